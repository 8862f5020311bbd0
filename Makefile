EXTENSION = shardid
MODULE_big = shardid
DATA = $(notdir $(wildcard $(srcdir)/shardid--*.sql))
OBJS = \
       src/module.o \
       src/engine/arguments.o \
       src/engine/bounds.o \
       src/engine/draw.o \
       src/engine/first_note.o \
       src/engine/generator.o \
       src/engine/refusals.o \
       src/engine/replaced_storage.o \
       src/engine/sequence.o \
       src/engine/sequence_page.o \
       src/engine/server.o \
       src/engine/settled.o \
       src/engine/wait.o \
       src/functions/copy_support.o \
       src/functions/generator_status.o \
       src/functions/id_parts.o \
       src/functions/id_text.o \
       src/functions/next_id.o \
       src/functions/next_ids.o \
       src/functions/nextval_range.o \
       src/functions/objectids.o \
       src/functions/raise_generator.o \
       src/functions/scatter.o \
       src/functions/settled_below.o \
       src/functions/shard_fingerprint.o \
       src/functions/uuid.o

REGRESS = ids layouts settled uuids uuid_v1_generated objectid errors privileges one_layout processors jumps \
          moved raise interplay rollback cost usage extension batches status ranges scatter fingerprint \
          short_text layouts_of_others
REGRESS_OPTS = --load-extension=shardid
ISOLATION = waits revoked
ISOLATION_OPTS = --load-extension=shardid

# Extensions of their own, each with its Makefile: "make -C contrib/lease installcheck" runs the topics of one.
HOUSES = contrib/admin contrib/lease contrib/readers

# Topics that are named, as in "make installcheck REGRESS=ids", run alone; else those of the houses run, too.
named_topics = $(if $(filter command,$(origin REGRESS)),$(REGRESS)) $(if $(filter command,$(origin ISOLATION)),$(ISOLATION))
ifneq ($(strip $(named_topics)),)
REGRESS =
ISOLATION =
endif

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

ifneq ($(wildcard $(PGXS)),)
include $(dir $(lastword $(MAKEFILE_LIST)))src/library.mk

all: $(HOUSES:=/all)
install: $(HOUSES:=/install)
uninstall: $(HOUSES:=/uninstall)
clean: $(HOUSES:=/clean)
ifeq ($(strip $(named_topics)),)
installcheck: $(HOUSES:=/installcheck)
endif

# A build in another directory has the houses' directories, too.
in_houses = $(HOUSES:=/all) $(HOUSES:=/install) $(HOUSES:=/uninstall) $(HOUSES:=/clean) $(HOUSES:=/installcheck)
.PHONY: $(in_houses)
$(in_houses):
	$(MKDIR_P) $(@D)
	$(MAKE) -C $(@D) -f $(abspath $(srcdir))/$(@D)/Makefile $(if $(VPATH),VPATH=$(abspath $(VPATH))/$(@D)) $(@F)

# A library is linked with ours, and installed after it is built. Two checks at once would use the same database.
$(HOUSES:=/all): all-lib
$(HOUSES:=/install): %/install: %/all
contrib/lease/installcheck: contrib/admin/installcheck
contrib/readers/installcheck: contrib/lease/installcheck
else
.PHONY: all install installcheck clean
all install installcheck clean:
	@echo 'PostgreSQL server headers not found: set PG_CONFIG, or run "make demo" or "make test",' >&2
	@echo 'which install what is missing.' >&2
	@false
endif

# The project's own commands, which install missing packages and leave nothing behind. PGXS has a target "check", which
# only says that it is not supported.
.PHONY: help demo example quick test test-full matrix foreign platforms deb dist tle bench bench-publish bench-calls bench-portable \
        bench-new-rows bench-instructions bench-standby bench-cores soak

help: ## this list
	@awk -F ': ## ' '/^[a-z-]+: ## / { printf "make %-14s %s\n", $$1, $$2 }' '$(firstword $(MAKEFILE_LIST))'

demo: ## ids, and duplicates of Instagram's function, on a throwaway server
	@echo 'Takes one or two minutes, on a throwaway server. Installs these packages if they are missing:'
	@echo '$(shell sed -nE 's/^(build|demo) +//p' tools/packages.txt | sed 's/%v/NN/')'
	@tools/install-packages.sh --quiet build demo
	@exec tools/sandbox.sh tools/demo/demo.sh

# NAME is a directory of examples/ or contrib/; without it, lists all. Exit status 77: the example cannot run here.
example_script = $(wildcard $(addsuffix /$(NAME)/run.sh,examples contrib))
example: ## lists the examples; NAME=patroni runs one
ifeq ($(example_script),)
	@awk '/^# Takes / { split(FILENAME, file, "/"); sub(/^# Takes /, ""); printf "make example NAME=%-13s takes %s\n", file[2], $$0 }' examples/*/run.sh contrib/*/run.sh
	@test '$(origin NAME)' != 'command line'
else
	@tools/install-packages.sh --quiet build 'example-$(NAME)'
	@tools/sandbox.sh '$(example_script)' || test $$? = 77
endif

# Before a commit: tests of each kind that take seconds. Needs the server's headers, Perl, libfaketime and clang-format.
QUICK = format symbols unit regress isolation t/generator/load.pl t/crash/altered.pl t/generator/clock.pl t/pages/reference.pl
quick: ## tests of each kind, a minute: before a commit
	@tools/install-packages.sh build quick
	@exec env IN_MEMORY=1 TEST='$(QUICK)' tools/sandbox.sh tools/test.sh

# TEST="ids t/generator/clock.pl" selects some; see tools/test.sh.
test: ## all tests but those that take long; TEST="ids lint t/generator/clock.pl" runs some
	@tools/install-packages.sh build quick test
	@exec env IN_MEMORY=1 tools/sandbox.sh tools/test.sh

# The same with more rounds of each fault, and with tests that take long; ends with a table of the faults.
test-full: ## more rounds of each fault, mutants, memory checks: hours
	@tools/install-packages.sh build quick test full source
	@exec env FULL=1 tools/sandbox.sh tools/test.sh

# make test on every PostgreSQL that Debian has, and pg_upgrade between them; needs root or sudo. Variables: RELEASES,
# SOURCE, TEST, FULL, CACHE; see tools/matrix.sh.
matrix: ## make test on each PostgreSQL of Debian
	@tools/install-packages.sh matrix
	@tools/matrix.sh

# PostgreSQL's own suites with and without shardid, and Jepsen's checker if JEPSEN is set. Variables: RELEASES, CACHE,
# MIRROR, JEPSEN; see tools/foreign.sh.
foreign: ## PostgreSQL's own suites, and Jepsen's checker
	@tools/install-packages.sh build test source
	@tools/foreign.sh

# Some tests on other processors. Variables: PLATFORMS, TEST, CACHE; see tools/matrix.sh.
PLATFORMS ?= i386 s390x arm64 riscv64 ppc64el
platforms: ## some tests on other processors
	@tools/install-packages.sh matrix platforms
	@PLATFORMS='$(PLATFORMS)' tools/matrix.sh

# Debian packages for each PostgreSQL of RELEASES (as for make matrix), in deb/RELEASE. See tools/deb.sh.
deb: ## Debian packages
	@tools/install-packages.sh matrix
	@tools/deb.sh

# The zip for PGXN.
dist: ## the zip for PGXN
	@packaging/release/dist.py

# The directory for database.dev, dist/shardid_portable: the SQL-only version as an extension of pg_tle.
tle: ## the SQL-only version for pg_tle
	@contrib/portable/pg_tle.sh "$(CURDIR)/dist/shardid_portable"

# The scripts of bench/pgbench in turn. Variables: ROUNDS, SECONDS. Results go to bench/out. PG=19 measures the server of
# the Debian release that has it, in a directory as make matrix does; see tools/bench.sh.
bench: ## pgbench scripts, in turn with the published functions
	@SECONDS_EACH="$(SECONDS)" tools/bench.sh throughput

# Takes what is in bench/out over to the pages.
bench-publish: ## takes the results over to the pages
	@bench/publish.py --take-over

bench-calls bench-portable bench-new-rows bench-instructions bench-standby bench-cores:
	@SECONDS_EACH="$(SECONDS)" tools/bench.sh $(subst -,_,$(@:bench-%=%))

# Whether memory, files, logs, the registry or WAL grow while 64 databases lease their shards.
MINUTES ?= 60
soak: ## whether anything grows in an hour
	@SECONDS_EACH=$$(($(MINUTES) * 60)) tools/bench.sh soak
