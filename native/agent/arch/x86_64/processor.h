// What arch/arch.h asks of an architecture to be inline.
#pragma once

#include "arch/x86_64/addresses.h"
#include "arch/x86_64/guarded_load.h"
#include "arch/x86_64/registers.h"
