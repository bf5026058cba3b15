/* transport_mpi.c - the plug-in libcoke-mpi.so: moves bytes with MPI.
 *
 * It contains nothing else of the library, and nothing else needs MPI. It must not call the
 * library, which is why it allocates with malloc. */
#include "dist/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI is process-global, hence static. A communicator per channel keeps their operations
 * apart. */
static MPI_Comm comm[CK_CHANNELS];
static int rank, size;

/* What one call begins: a swap sends and receives. */
struct request {
    MPI_Request part[2];
};

/* Freed by wait_for, or by begun on failure. */
static MPI_Request *new_request(void **out)
{
    struct request *r = malloc(sizeof *r);
    *out = r;
    if (!r)
        return NULL;
    r->part[0] = r->part[1] = MPI_REQUEST_NULL;
    return r->part;
}

/* Frees the request of an operation that did not start. */
static int begun(int rc, void **request)
{
    if (rc != MPI_SUCCESS) {
        free(*request);
        *request = NULL;
    }
    return rc;
}

static int barrier(void **request)
{
    MPI_Request *r = new_request(request);
    if (!r)
        return MPI_ERR_NO_MEM;
    return begun(MPI_Ibarrier(comm[CK_CHANNEL_MAIN], r), request);
}

static int broadcast(void *data, int n, int root, void **request)
{
    MPI_Request *r = new_request(request);
    if (!r)
        return MPI_ERR_NO_MEM;
    return begun(MPI_Ibcast(data, n, MPI_UINT32_T, root, comm[CK_CHANNEL_MAIN], r), request);
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

static int swap(int to, const void *send, int from, void *receive, int n, void **request)
{
    MPI_Comm main = comm[CK_CHANNEL_MAIN];
    MPI_Request *r = new_request(request);
    int rc = r ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (r && from >= 0)
        rc = MPI_Irecv(receive, n, MPI_UINT32_T, from, 0, main, &r[0]);
    if (rc == MPI_SUCCESS && to >= 0)
        rc = MPI_Isend(send, n, MPI_UINT32_T, to, 0, main, &r[1]);
    return begun(rc, request);
}

static int test(void **request, int *done)
{
    struct request *r = *request;
    int rc = MPI_Testall(2, r->part, done, MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS || *done) {
        free(r);
        *request = NULL;
    }
    return rc;
}

static void words(int error, char *out, size_t room)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(error, text, &n);
    snprintf(out, room, "%s", text);
}

/* Also reaches processes that are blocked in a collective call. */
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

/* Funneled: only the thread that connects calls MPI. Errors are returned instead of
 * aborting. */
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
        snprintf(error, room, "plug-in version %d does not match %d of the library",
                 CK_TRANSPORT_VERSION, version);
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
                                 .words = words,
                                 .end_all = end_all,
                                 .leave = leave};
    return 0;
}
