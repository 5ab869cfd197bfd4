#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

/// A file of the web client, compiled in.
struct web_asset {
  const char *name;
  const unsigned char *bytes;
  size_t size;
};

/// The page, at 0, or one of its files, in the order of their names; NULL past the last.
const struct web_asset *web_asset(size_t index);

#endif
