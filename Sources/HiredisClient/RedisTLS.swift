#if REDIS_TLS
  internal import CHiredisSSL
  import Glibc

  /// The settings for TLS with servers: the trusted authorities and the client certificate.
  final class RedisTLS: @unchecked Sendable {
    // `@unchecked Sendable`: the context does not change after `init`, and OpenSSL allows several threads to create
    // sessions from one context.
    private let context: OpaquePointer
    static let isAvailable = true

    /// - Parameters:
    ///   - authorities: a file of certificates to trust instead of the system's.
    ///   - certificate: a file with the client certificate and its chain.
    ///   - key: the file with its private key; both or neither.
    /// - Throws: `.configuration`, with the file that cannot be used.
    init(authorities: String?, certificate: String?, key: String?) throws(RedisError) {
      guard let context = fanmill_tls_context() else { throw RedisError(.connection, "out of memory for TLS") }
      self.context = context
      let isTrusting =
        if let authorities {
          SSL_CTX_load_verify_locations(context, authorities, nil)
        } else {
          SSL_CTX_set_default_verify_paths(context)
        }
      guard isTrusting == 1 else {
        throw RedisURL.wrong("the certificates in \(authorities ?? "the system's store") cannot be read (?ca=)")
      }
      guard let certificate, let key else { return }
      guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
        throw RedisURL.wrong("the certificate in \(certificate) cannot be read (?cert=)")
      }
      guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1, SSL_CTX_check_private_key(context) == 1
      else { throw RedisURL.wrong("the key in \(key) cannot be read, or is not the certificate's (?key=)") }
    }

    deinit { SSL_CTX_free(context) }

    /// Starts TLS on a connection in progress: hiredis performs the handshake as the socket becomes ready.
    ///
    /// - Parameters:
    ///   - connection: a `redisContext`.
    ///   - host: the name or address that the server's certificate must match.
    func start(_ connection: UnsafeMutableRawPointer, host: String) throws(RedisError) -> RedisTLSSession {
      // OpenSSL writes with write(2), which must not kill the process when the server is gone. The thread is the
      // loop's, where no code waits for this signal.
      var pipe = sigset_t()
      sigemptyset(&pipe)
      sigaddset(&pipe, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &pipe, nil)
      var address = in6_addr()
      let isAddress = inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
      guard let session = fanmill_tls_session(context, host, isAddress ? 1 : 0) else {
        throw RedisError(.connection, "cannot create a TLS session for \(host)")
      }
      let started = RedisTLSSession(session)
      guard fanmill_tls_start(connection, session) == REDIS_OK else {
        // A local server may have responded already.
        throw RedisError(.connection, started.refusal ?? "cannot start TLS with \(host)")
      }
      return started
    }
  }

  /// One connection's TLS session, kept to find out why it failed.
  final class RedisTLSSession {
    private let session: OpaquePointer

    init(_ session: OpaquePointer) { self.session = session }

    deinit { SSL_free(session) }

    /// The defect of the server's certificate; nil if there is none, or no certificate has arrived.
    var refusal: String? {
      let verdict = SSL_get_verify_result(session)
      guard verdict != X509_V_OK, let text = X509_verify_cert_error_string(verdict) else { return nil }
      return "the server's certificate is refused: \(String(cString: text))"
    }
  }
#else
  /// Replaces TLS in a build whose hiredis lacks it: it cannot be created.
  final class RedisTLS: Sendable {
    static let isAvailable = false

    init(authorities: String?, certificate: String?, key: String?) throws(RedisError) {
      throw RedisURL.wrong(
        "rediss:// needs TLS, but this program's hiredis \(hiredisVersion) was built without it; "
          + "build it with hiredis 1.0 or later and its TLS library, or use redis:// "
          + "to a TLS tunnel on this machine, such as stunnel's")
    }

    func start(_ connection: UnsafeMutableRawPointer, host: String) throws(RedisError) -> RedisTLSSession {
      RedisTLSSession()
    }
  }

  final class RedisTLSSession {
    var refusal: String? { nil }
  }
#endif
