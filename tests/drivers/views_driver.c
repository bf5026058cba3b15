/* views_driver.c - lets other programs see what is drawn for an image and what comes of it.
 *
 *     views_driver SOURCE RECIPE EPOCHS [FLOATS] [OPTION VALUE]...
 *
 * A line for each image, epoch and view: index epoch view width height crop (x y w h) gray
 * sigma solarize flip, then pairs of jitter operation and factor. With FLOATS ("-" = no) the
 * normalised views go to that file one after the other. */
#include "core/mem.h"
#include "coke.h"
#include "data/images.h"
#include "data/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(void)
{
    fprintf(stderr, "views_driver: %s\n", coke_last_error());
    exit(1);
}

static void print_draw(const struct ck_draw *d)
{
    printf(" %d %d %d %d %d %.9g %d %d", d->crop.x, d->crop.y, d->crop.width, d->crop.height,
           d->gray, (double)d->sigma, d->solarize, d->flip);
    for (int i = 0; i < d->njitter; i++)
        printf(" %d %.9g", d->op[i], (double)d->factor[i]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct ck_dataset_options data_options = ck_dataset_options_default();
    struct ck_view_options o = ck_view_options_default();
    struct coke_dataset *d;
    struct ck_recipe r;
    struct ck_fetcher f = {0};
    struct ck_canvas c = {0};
    FILE *out = NULL;
    if (argc < 4 || ck_options_set(ck_view_option_table(), &o, "recipe", argv[2]))
        return 2;
    for (int i = 5; i + 1 < argc; i += 2)
        if (ck_options_set(ck_view_option_table(), &o, argv[i], argv[i + 1]))
            stop();
    if (ck_images_new(&d, argv[1], &data_options) || ck_recipe_init(&r, d, &o, NULL))
        stop();
    if (argc > 4 && strcmp(argv[4], "-") != 0)
        out = fopen(argv[4], "wb");
    size_t most = 0;
    for (int v = 0; v < r.views; v++) {
        size_t n = (size_t)r.channels * (size_t)r.view[v].width * (size_t)r.view[v].height;
        most = n > most ? n : most;
    }
    float *x = ck_alloc_array(most, sizeof *x);
    for (int64_t i = 0; i < coke_dataset_count(d); i++)
        for (int64_t e = 0; e < atoi(argv[3]); e++) {
            struct ck_view_draws s;
            if (ck_recipe_begin(&r, &f, d, i, e, &s))
                stop();
            for (int v = 0; v < r.views; v++) {
                printf("%lld %lld %d %d %d", (long long)i, (long long)e, v, f.width, f.height);
                print_draw(&s.draw[v]);
                if (!out)
                    continue;
                if (ck_view_render(&c, &r.view[v], &s.draw[v], &f.image, &s.part, s.scale))
                    stop();
                ck_planes_normalize(&c.planes, s.draw[v].flip, r.mean, r.std, x);
                fwrite(x, sizeof *x,
                       (size_t)r.channels * (size_t)r.view[v].width * (size_t)r.view[v].height,
                       out);
            }
        }
    if (out)
        fclose(out);
    ck_free(x);
    ck_fetcher_release(&f);
    ck_canvas_release(&c);
    coke_dataset_free(d);
    return 0;
}
