# Makefile - the front door; CMake does the work. `make help` lists the targets.
CMAKE  ?= cmake
CTEST  ?= ctest
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
prefix ?= /usr/local
# Chosen once; a folder that is configured keeps its generator.
GENERATOR := $(if $(shell command -v ninja),-G Ninja)
new = $(if $(wildcard $(1)/CMakeCache.txt),,$(GENERATOR))

DEV = -DCOKE_DEV=ON -DCMAKE_BUILD_TYPE=Debug
RUN = $(CTEST) --output-on-failure -j $(JOBS)

.PHONY: all demo check check-long campaign tidy bench wheel install clean help dev dev-clang

all:
	@$(CMAKE) -S . -B build $(call new,build) $(CMAKE_FLAGS) || { scripts/install-deps --list build; exit 1; }
	@$(CMAKE) --build build -j $(JOBS)

demo:
	@scripts/install-deps build
	@$(MAKE) --no-print-directory all
	build/coke demo -o build/demo

dev:
	@$(CMAKE) -S . -B build-dev $(call new,build-dev) $(DEV) -DCMAKE_C_COMPILER=gcc
	@$(CMAKE) --build build-dev -j $(JOBS)

dev-clang:
	@$(CMAKE) -S . -B build-clang $(call new,build-clang) $(DEV) -DCMAKE_C_COMPILER=clang
	@$(CMAKE) --build build-clang -j $(JOBS)

# The release run comes last: its summary is the last word.
check:
	@scripts/install-deps build check
	@$(MAKE) --no-print-directory dev-clang
	LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/lsan.supp:print_suppressions=0 \
	$(RUN) --test-dir build-clang -R '^((kernels|cluster|nn|image|data|replay)/[a-z0-9_]*|tree/openmp)$$' \
	  -E '^cluster/(euclidean|quality)$$'
	@$(MAKE) --no-print-directory dev
	$(RUN) --test-dir build-dev -L 'unit|cli'
	@$(MAKE) --no-print-directory all
	$(RUN) --test-dir build

check-long:
	@scripts/install-deps build check
	@$(MAKE) --no-print-directory all
	$(RUN) --test-dir build -C long -L long -j 1
	@$(MAKE) --no-print-directory dev
	$(RUN) --test-dir build-dev -L python
	@$(MAKE) --no-print-directory dev-clang
	$(RUN) --test-dir build-clang -C long -R '^fuzz/'

# Hours; the same command continues after an interruption. AMOUNT=.01 is one percent of it.
AMOUNT ?= 1
campaign:
	@scripts/install-deps build check
	@$(MAKE) --no-print-directory all dev-clang
	/usr/bin/python3 tests/campaign/campaign.py build/coke build/campaign --build build \
	  --fault build/tests/campaign/coke_fault.so --fuzz build-clang/tests --amount $(AMOUNT)

# The files are spread over the cores; any finding of .clang-tidy is an error.
tidy:
	@scripts/install-deps build tidy
	@$(CMAKE) -S . -B build $(call new,build) $(CMAKE_FLAGS)
	find src cli -name '*.c' | sort | xargs -n 8 -P $(JOBS) clang-tidy -p build --quiet

bench:
	@scripts/install-deps build bench
	@$(MAKE) --no-print-directory all
	bench/peers/bench_cluster --fresh
	build/bench_step
	build/bench_embed
	build/bench_loader
	build/bench_train
	bench/micro/bench_scaling
	bench/micro/bench_repair
	bench/peers/bench_levels
	bench/peers/bench_python
	bench/peers/bench_quality_small

wheel:
	@scripts/install-deps build
	scripts/make-wheel build/wheel

# Neither tests nor benchmarks: only what is installed.
install:
	@$(CMAKE) -S . -B build $(call new,build) $(CMAKE_FLAGS) || { scripts/install-deps --list build; exit 1; }
	@$(CMAKE) --build build -j $(JOBS) --target coke_product
	DESTDIR=$(DESTDIR) $(CMAKE) --install build --prefix $(prefix)

clean:
	rm -rf build build-dev build-clang

help:
	@echo 'make             build/coke and build/libcoke.so; configures the tests'
	@echo 'make demo        installs what is missing, builds, runs coke demo'
	@echo 'make check       installs what is missing, builds with gcc and clang, runs all tests'
	@echo 'make check-long  tests that take minutes and gigabytes'
	@echo 'make campaign    kills, failing calls, flipped bits, lost processes, fuzzing: hours'
	@echo 'make tidy        runs clang-tidy over src and cli'
	@echo 'make bench       measures against faiss, scikit-learn, SuperKMeans, LEMON, PyTorch'
	@echo 'make wheel       the Python package, in build/wheel, tested on its own'
	@echo 'make install     to prefix=$(prefix), below DESTDIR if that is set'
	@echo 'make dev         build-dev: gcc, sanitizers, warnings are errors'
	@echo 'make dev-clang   build-clang: the same with clang'
	@echo 'make clean       removes the build folders'
