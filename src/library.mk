# How an extension of this tree is built by PGXS. Included by its Makefile, which sets MODULE_big and OBJS if it has a library.
sources := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# PostgreSQL's headers cause warnings with our flags, and errors with clang; so they are system headers.
PG_CPPFLAGS = -I$(sources) -isystem $(shell $(PG_CONFIG) --includedir-server 2>/dev/null) $(if $(uses_libpq),-isystem $(libpq_srcdir))
# The library does not depend on the directory of the build, also with link-time optimization (LTO).
prefix_maps = $(patsubst %,-ffile-prefix-map=%=.,$(CURDIR) $(abspath $(srcdir)) $(abspath $(sources)/..))
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wall -Wextra $(COPT) $(prefix_maps) \
              $(if $(findstring clang,$(shell $(CXX) --version 2>/dev/null)),$(clang_flags))
PG_LDFLAGS = $(prefix_maps)
# PGXS has g++'s warnings in its flags; START_CRIT_SECTION and, from 18 on, PG_MODULE_MAGIC are PostgreSQL's.
clang_flags = -Wno-unknown-warning-option -Wno-deprecated-volatile -Wno-missing-designated-field-initializers

PG_CONFIG ?= pg_config
PGXS ?= $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
ifneq ($(and $(TAP_TESTS),$(filter %installcheck,$(MAKECMDGOALS))),)
$(error the TAP tests need throwaway servers: run "make test TEST=t" or "make test TEST=contrib" without TAP_TESTS)
endif
# From 16 on PGXS hides what is not marked, and other libraries call functions of shardid.
override CXXFLAGS += -fvisibility=default
# PGXS does not pass PG_CXXFLAGS to the bitcode compiler, and on Debian it does not track our headers.
COMPILE.cxx.bc += $(PG_CXXFLAGS) $(clang_flags)
$(OBJS) $(OBJS:.o=.bc): $(shell find $(sources) $(srcdir)/src -name '*.h' -o -name '*.hpp')

# A build in another directory (make -f .../Makefile, or VPATH) has no src there. Absolute names: VPATH would find the
# directories of the sources.
object_folders = $(sort $(dir $(OBJS:%=$(CURDIR)/%)))
$(OBJS) $(OBJS:.o=.bc): | $(object_folders)
$(object_folders):
	mkdir -p $@
