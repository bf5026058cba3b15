/* transport.h - what moves bytes between the processes of a job. The plug-in libcoke-mpi.so
 * fills this table; it adds nothing up, so that no sum depends on how it does its work. */
#ifndef CK_TRANSPORT_H
#define CK_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/* Raised with every change of this file: program and plug-in must be of one kind. */
enum { CK_TRANSPORT_VERSION = 1 };

/* Operations of one channel are begun in the same order by all; channels do not wait for each
 * other. */
enum ck_channel { CK_CHANNEL_MAIN, CK_CHANNEL_SCATTER, CK_CHANNEL_COLLECT, CK_CHANNELS };

/* Lengths and places are counted in words of four bytes. */
enum { CK_WORD = 4 };

/* All functions return 0, or a number that `words` explains. Those with a request come back at
 * once; test and wait, which frees it, see to the rest. */
struct ck_transport {
    int rank, size;
    int (*barrier)(void);
    int (*broadcast)(void *data, int words, int root);
    /* Part r of all processes, `count[r]` words, goes to all + place[r]; mine may be there. */
    int (*gather)(enum ck_channel ch, const void *mine, void *all, const int *count,
                  const int *place, void **request);
    /* send_count[r] words go to process r; receive_count[r] come from it. */
    int (*exchange)(enum ck_channel ch, const void *send, const int *send_count,
                    const int *send_place, void *receive, const int *receive_count,
                    const int *receive_place, void **request);
    /* Sends to one process and receives as much from one; either may be -1: no one. */
    int (*swap)(int to, const void *send, int from, void *receive, int words);
    int (*test)(void *request, int *done);
    int (*wait)(void **request);
    void (*words)(int error, char *out, size_t size);
    /* Ends all processes of the job with this exit code; does not return. */
    void (*end_all)(int code);
    int (*leave)(void);
};

/* The one function of a plug-in. */
typedef int ck_transport_open(int version, struct ck_transport *out, char *error, size_t size);
#define CK_TRANSPORT_OPEN "ck_plugin_open"

/* transport_self.c: one process alone. */
void ck_transport_self(struct ck_transport *out);

#endif
