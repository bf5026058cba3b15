/* transport_mpi.c - the plug-in libcoke-mpi.so: moves bytes with MPI. Nothing else of the library is
 * in it, and only it needs MPI. */
#include "dist/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm comm[CK_CHANNELS];
static int rank, size;

static int barrier(void)
{
    return MPI_Barrier(comm[CK_CHANNEL_MAIN]);
}

static int broadcast(void *data, int words, int root)
{
    return MPI_Bcast(data, words, MPI_UINT32_T, root, comm[CK_CHANNEL_MAIN]);
}

static MPI_Request *new_request(void **out)
{
    return *out = malloc(sizeof(MPI_Request));
}

/* A request that was not begun is none. */
static int begun(int rc, void **request)
{
    if (rc != MPI_SUCCESS) {
        free(*request);
        *request = NULL;
    }
    return rc;
}

static int gather(enum ck_channel ch, const void *mine, void *all, const int *count,
                  const int *place, void **request)
{
    MPI_Request *r = new_request(request);
    int there = mine == (char *)all + (size_t)place[rank] * CK_WORD;
    if (!r)
        return MPI_ERR_NO_MEM;
    return begun(MPI_Iallgatherv(there ? MPI_IN_PLACE : mine, count[rank], MPI_UINT32_T, all,
                                 count, place, MPI_UINT32_T, comm[ch], r),
                 request);
}

static int exchange(enum ck_channel ch, const void *send, const int *send_count,
                    const int *send_place, void *receive, const int *receive_count,
                    const int *receive_place, void **request)
{
    MPI_Request *r = new_request(request);
    if (!r)
        return MPI_ERR_NO_MEM;
    return begun(MPI_Ialltoallv(send, send_count, send_place, MPI_UINT32_T, receive,
                                receive_count, receive_place, MPI_UINT32_T, comm[ch], r),
                 request);
}

static int swap(int to, const void *send, int from, void *receive, int n)
{
    return MPI_Sendrecv(send, to < 0 ? 0 : n, MPI_UINT32_T, to < 0 ? MPI_PROC_NULL : to, 0,
                        receive, from < 0 ? 0 : n, MPI_UINT32_T,
                        from < 0 ? MPI_PROC_NULL : from, 0, comm[CK_CHANNEL_MAIN],
                        MPI_STATUS_IGNORE);
}

static int test(void *request, int *done)
{
    return MPI_Test(request, done, MPI_STATUS_IGNORE);
}

static int wait_for(void **request)
{
    int rc = MPI_Wait(*request, MPI_STATUS_IGNORE);
    free(*request);
    *request = NULL;
    return rc;
}

static void words(int error, char *out, size_t room)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(error, text, &n);
    snprintf(out, room, "%s", text);
}

static void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

static int leave(void)
{
    for (int i = 0; i < CK_CHANNELS; i++)
        MPI_Comm_free(&comm[i]);
    return MPI_Finalize();
}

static int connect_all(void)
{
    int level, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < CK_CHANNELS && rc == MPI_SUCCESS; i++) {
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        if (rc == MPI_SUCCESS)
            rc = MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN);
    }
    return rc;
}

__attribute__((visibility("default"))) ck_transport_open ck_plugin_open;

int ck_plugin_open(int version, struct ck_transport *out, char *error, size_t room)
{
    if (version != CK_TRANSPORT_VERSION) {
        snprintf(error, room, "it is of another version (%d, not %d)", CK_TRANSPORT_VERSION,
                 version);
        return -1;
    }
    int rc = connect_all();
    if (rc != MPI_SUCCESS) {
        words(rc, error, room);
        return -1;
    }
    *out = (struct ck_transport){.rank = rank,
                                 .size = size,
                                 .barrier = barrier,
                                 .broadcast = broadcast,
                                 .gather = gather,
                                 .exchange = exchange,
                                 .swap = swap,
                                 .test = test,
                                 .wait = wait_for,
                                 .words = words,
                                 .end_all = end_all,
                                 .leave = leave};
    return 0;
}
