#ifndef FANMILL_CHIREDISSSL_SHIM_H
#define FANMILL_CHIREDISSSL_SHIM_H

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* What OpenSSL offers as macros, and what hiredis does not: it never compares a certificate with the server's name. */

static inline SSL_CTX *fanmill_tls_context(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (context == NULL) return NULL;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return context;
}

/* A session for the server of this name, or of this address where `is_address`; NULL if memory is short. */
static inline SSL *fanmill_tls_session(SSL_CTX *context, const char *host, int is_address) {
  SSL *session = SSL_new(context);
  if (session == NULL) return NULL;
  int is_set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host)
                          : SSL_set1_host(session, host) && SSL_set_tlsext_host_name(session, host);
  if (is_set) return session;
  SSL_free(session);
  return NULL;
}

/* Hands the session over to hiredis, which frees it with the connection; the caller keeps a reference of its own. */
static inline int fanmill_tls_start(void *connection, SSL *session) {
  SSL_up_ref(session);
  if (redisInitiateSSL((redisContext *)connection, session) == REDIS_OK) return REDIS_OK;
  SSL_free(session);
  return REDIS_ERR;
}

#endif
