/* api_report.c - public functions of reports. */
#include "api/check_args.h"
#include "report/report.h"

static int check_vectors(const char *function, const struct coke_report_input *in)
{
    if (in->nvectors < 0)
        return ck_fail(COKE_EUSAGE, "%s: input->nvectors is %d", function, in->nvectors);
    const void *list = in->vectors;
    if (in->nvectors > 0)
        CK_RETURN_IF(ck_args_check(function, "input->vectors", &list, 1));
    for (int i = 0; i < in->nvectors; i++) {
        const void *path = in->vectors[i];
        CK_RETURN_IF(ck_args_check(function, "input->vectors[i]", &path, 1));
    }
    return COKE_OK;
}

/* Fills q from the caller's input. cb must outlive q, which refers to it. Takes the name of the
 * public function, for messages. */
static int read_input(const char *function, const struct coke_report_input *from,
                      struct ck_report_request *q, struct coke_callbacks *cb)
{
    struct coke_report_input in;
    CK_RETURN_IF(ck_args_read(function, "input", &in, sizeof in, from));
    CK_RETURN_IF(ck_args_read(function, "callbacks", cb, sizeof *cb, in.callbacks));
    CK_RETURN_IF(check_vectors(function, &in));
    CK_OPTIONS(data, dataset, in.data);
    *q = (struct ck_report_request){.source = in.source, .images = in.images, .data = *data};
    q->vectors = in.vectors;
    q->nvectors = in.nvectors;
    q->callbacks = cb;
    const void *source = in.source;
    return ck_args_check(function, "input->source", &source, 1);
}

/* Writes the page and, with images_dir, a folder beside it; existing files only with force. */
int coke_report_write(const struct coke_report_input *input, const struct coke_options *options,
                      const char *page, const char *images_dir, int force,
                      struct coke_report_summary *out)
{
    struct ck_report_request q;
    struct coke_callbacks cb;
    struct coke_report_summary full;
    struct ck_page_target to = {page, images_dir, force};
    CK_ARGS(input, page, out);
    CK_RETURN_IF(read_input(__func__, input, &q, &cb));
    CK_RESULT(full, out);
    CK_OPTIONS(o, report, options);
    q.o = *o;
    CK_RETURN_RESULT(out, full, ck_report_write(&q, &to, &full));
}
