#ifndef FANMILL_CLIBPQ_SHIM_H
#define FANMILL_CLIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
