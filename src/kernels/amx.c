/* amx.c - whether this process may use the matrix unit, and the state of its emulation. */
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"
#include "kernels/kernels.h"

#include <stdatomic.h>
#include <string.h>

struct ck_emulated_tiles *ck_emulated_tiles(void)
{
    static _Thread_local struct ck_emulated_tiles tiles;
    return &tiles;
}

enum {
    LEAF7_BF16 = 1 << 22, /* in EDX */
    LEAF7_TILE = 1 << 24,
    LEAF7_INT8 = 1 << 25,
    LEAF7_ALL = LEAF7_BF16 | LEAF7_TILE | LEAF7_INT8,
    LEAF_TILE_SIZES = 0x1d,
    XCR0_TILES = 3 << 17, /* TILECFG and TILEDATA */
    TILEDATA = 18,
    REQUEST_PERMISSION = 0x1023, /* ARCH_REQ_XCOMP_PERM */
};

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* XGETBV as bytes: the intrinsic needs a flag of the compiler. */
static unsigned read_xcr0(void)
{
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static int request_permission(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILEDATA) == 0;
}

static struct ck_amx_cpu read_cpu(void)
{
    unsigned a, b, c, d;
    struct ck_amx_cpu cpu = {.xcr0 = read_xcr0(), .permit = request_permission};
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        cpu.leaf7_edx = d;
    if (__get_cpuid_count(LEAF_TILE_SIZES, 1, &a, &b, &c, &d))
        cpu.tile_sizes = a;
    return cpu;
}

#else

static struct ck_amx_cpu read_cpu(void)
{
    return (struct ck_amx_cpu){0};
}

#endif

static int has_unit(const struct ck_amx_cpu *cpu)
{
    return (cpu->leaf7_edx & LEAF7_ALL) == LEAF7_ALL;
}

const char *ck_amx_obstacle_of(const struct ck_amx_cpu *cpu)
{
    if (!has_unit(cpu))
        return "the CPU has no AMX";
    if ((cpu->xcr0 & XCR0_TILES) != XCR0_TILES)
        return "the system does not enable AMX";
    if (!cpu->permit())
        return "the system does not permit AMX (Linux 5.16 or later does)";
    return NULL;
}

int ck_amx_hides_sizes(const struct ck_amx_cpu *cpu)
{
    return has_unit(cpu) && cpu->tile_sizes == 0;
}

int ck_amx_sizes_hidden(void)
{
    struct ck_amx_cpu cpu = read_cpu();
    return ck_amx_hides_sizes(&cpu);
}

/* Idempotent: threads that call at once find the same, and `known` is set last. */
const char *ck_amx_obstacle(void)
{
    static const char *_Atomic obstacle;
    static _Atomic int known;
    if (!known) {
        struct ck_amx_cpu cpu = read_cpu();
        obstacle = ck_amx_obstacle_of(&cpu);
        known = 1;
    }
    return obstacle;
}

enum ck_amx ck_amx(void)
{
    const char *isa = ck_isa();
    if (strcmp(isa, "amx") == 0)
        return CK_AMX_UNIT;
    return strcmp(isa, "amx-emulated") == 0 ? CK_AMX_EMULATED : CK_AMX_NONE;
}

const char *ck_amx_missing(void)
{
    if (ck_amx() == CK_AMX_UNIT)
        return NULL;
    const char *obstacle = ck_amx_obstacle();
    return obstacle ? obstacle : "COKE_ISA chooses another instruction set";
}
