/* loader.h - batches of augmented views, prepared ahead by worker threads. */
#ifndef CK_LOADER_H
#define CK_LOADER_H

#include "data/recipe.h"

/* coke.h has the contracts of the functions that it repeats. A loader borrows the data set until
 * ck_loader_free and copies the options. One thread at a time per loader; its own threads are
 * started here and by ck_loader_seek, and joined in ck_loader_free. */
int ck_loader_new(struct coke_loader **out, struct coke_dataset *data,
                  const struct ck_loader_options *options);
void ck_loader_free(struct coke_loader *l);
int64_t ck_loader_steps(const struct coke_loader *l);
int ck_loader_seek(struct coke_loader *l, int64_t epoch, int64_t step);
/* Fills out, whose arrays are the loader's until the next call. */
int ck_loader_next(struct coke_loader *l, struct coke_batch *out);
double ck_loader_waited(const struct coke_loader *l);
int64_t ck_loader_bytes(const struct coke_loader *l);
int64_t ck_loader_bad_count(const struct coke_loader *l);
/* -1 and *sentence NULL if there is no i-th one. */
int64_t ck_loader_bad(const struct coke_loader *l, int64_t i, const char **sentence);

/* From the next batch on, the last view shows another image: one of its m partners, drawn anew in
 * every epoch. partner [n][m], borrowed until ck_loader_free; NULL = the image itself. Batches
 * that are prepared are made again, as after a seek to (epoch, step). */
int ck_loader_set_partners(struct coke_loader *l, const int32_t *partner, int64_t m,
                           int64_t epoch, int64_t step);
/* ck_loader_new with the mean and deviation of another recipe. */
int ck_loader_new_like(struct coke_loader **out, struct coke_dataset *data,
                       const struct ck_loader_options *options, const struct ck_recipe *normed);
const struct ck_recipe *ck_loader_recipe(const struct coke_loader *l);

#endif
