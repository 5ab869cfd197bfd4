#ifndef FANMILL_CHIREDIS_SHIM_H
#define FANMILL_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>
#include <hiredis/async.h>

#endif
