/* amx.h - the matrix unit (AMX): whether this process may use it.
 *
 * Kernels on tiles are written once, on the operations of amx_tiles.h, and compiled twice: for
 * the unit, and for an emulation of it in plain C that tests run on every machine. */
#ifndef CK_AMX_H
#define CK_AMX_H

enum ck_amx {
    CK_AMX_NONE,     /* no kernels on tiles */
    CK_AMX_EMULATED, /* slow, for tests: only if COKE_ISA=amx-emulated */
    CK_AMX_UNIT,
};

/* What kernels on tiles are to use in this process: as the version of ck_kernels(). */
enum ck_amx ck_amx(void);

/* Why this process cannot use the unit, as part of a sentence; NULL if it can. Static storage.
 * Does not depend on COKE_ISA. Asks the system for permission on the first call, from any thread;
 * the answer holds for all threads and for children of fork(). */
const char *ck_amx_obstacle(void);

/* Why this process does not use the unit, as part of a sentence; NULL if it does. */
const char *ck_amx_missing(void);

/* Whether CPUID leaf 0x1D, which states the size of tiles, is hidden although the CPU has the
 * unit, as in some virtual machines. Palette 1 is 8 tiles of 16 rows x 64 bytes nevertheless, but
 * code that trusts the leaf faults. */
int ck_amx_sizes_hidden(void);

/* What the answers above follow from; tests fill in CPUs that are not at hand. */
struct ck_amx_cpu {
    unsigned leaf7_edx;  /* CPUID leaf 7, subleaf 0 */
    unsigned tile_sizes; /* leaf 0x1D, subleaf 1, EAX; 0 if the leaf is hidden */
    unsigned xcr0;       /* low half; 0 without XSAVE */
    int (*permit)(void); /* asks the system: whether it permits tiles; called last */
};

const char *ck_amx_obstacle_of(const struct ck_amx_cpu *cpu);
int ck_amx_hides_sizes(const struct ck_amx_cpu *cpu);

#endif
