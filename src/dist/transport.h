/* transport.h - moves bytes between the processes of a job. The plug-in libcoke-mpi.so fills
 * this table. It never adds numbers, so that sums do not depend on the MPI implementation.
 * Called by group.c only, from one thread. */
#ifndef CK_TRANSPORT_H
#define CK_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/* Increase it with every change of this file: library and plug-in must match. */
enum { CK_TRANSPORT_VERSION = 2 };

/* All processes begin the operations of one channel in the same order; channels are independent
 * of each other. Main: blocking collectives; the others: stages of asynchronous sums. */
enum ck_channel { CK_CHANNEL_MAIN, CK_CHANNEL_SCATTER, CK_CHANNEL_COLLECT, CK_CHANNELS };

/* Counts and displacements (place) are in words of four bytes. */
enum { CK_WORD = 4 };

/* All functions return 0, or an error that `words` turns into text. Those with a request return
 * at once; poll it with test until it is done, which frees it. None of them waits, so that the
 * caller can give up. Buffers must stay valid until then. */
struct ck_transport {
    int rank, size;
    int (*barrier)(void **request);
    int (*broadcast)(void *data, int words, int root, void **request);
    /* All-gather: the count[r] words of process r go to all + place[r]; mine may be in
     * place. */
    int (*gather)(enum ck_channel ch, const void *mine, void *all, const int *count,
                  const int *place, void **request);
    /* All-to-all: sends send_count[r] words to process r, receives receive_count[r] from it. */
    int (*exchange)(enum ck_channel ch, const void *send, const int *send_count,
                    const int *send_place, void *receive, const int *receive_count,
                    const int *receive_place, void **request);
    /* Sends `words` to one process and receives as many from one; -1 = none. */
    int (*swap)(int to, const void *send, int from, void *receive, int words, void **request);
    int (*test)(void **request, int *done); /* done, or failed: the request is freed and NULL */
    void (*words)(int error, char *out, size_t size);
    /* Ends all processes of the job with this exit code; does not return. */
    void (*end_all)(int code);
    int (*leave)(void);
};

/* The only symbol of a plug-in. Fills *out, or returns nonzero with a message in error. */
typedef int ck_transport_open(int version, struct ck_transport *out, char *error, size_t size);
#define CK_TRANSPORT_OPEN "ck_plugin_open"

/* transport_self.c: one process alone. */
void ck_transport_self(struct ck_transport *out);

#endif
