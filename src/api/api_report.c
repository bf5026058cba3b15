/* api_report.c - public functions of reports. */
#include "api/check_args.h"
#include "report/compare.h"
#include "report/report.h"

/* Fills q from the caller's input. cb must outlive q, which refers to it. Takes the name of the
 * public function, for messages. */
static int read_input(const char *function, const struct coke_report_input *from,
                      const char *page, struct ck_report_request *q, struct coke_callbacks *cb)
{
    struct coke_report_input in;
    CK_RETURN_IF(ck_args_read(function, "input", &in, sizeof in, from));
    CK_RETURN_IF(ck_args_read(function, "callbacks", cb, sizeof *cb, in.callbacks));
    CK_RETURN_IF(ck_args_check_list(function, "input->vectors", in.vectors, in.nvectors));
    CK_OPTIONS(data, dataset, in.data);
    CK_OPTIONS(rows, rows, in.rows);
    *q = (struct ck_report_request){in.source,     in.images,      in.vectors, in.nvectors,
                                    in.names,      in.classes,     in.table,   .data = *data,
                                    .rows = *rows, .callbacks = cb};
    const void *need[] = {in.source, page}; /* a table may do without a page */
    return ck_args_check(function, "input->source, page", need, in.table ? 1 : 2);
}

/* Several runs on one page. */
int coke_report_compare(const char *const *runs, int n, const char *page, int force,
                        struct coke_report_summary *out)
{
    struct coke_report_summary full;
    struct ck_page_target to = {page, NULL, force};
    CK_ARGS(runs, page, out);
    if (n <= CK_COMPARE_RUNS) /* else the list may be shorter; ck_compare_write refuses it */
        CK_RETURN_IF(ck_args_check_list(__func__, "runs", runs, n));
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_compare_write(runs, n, &to, &full));
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
    CK_ARGS(input, out);
    CK_RETURN_IF(read_input(__func__, input, page, &q, &cb));
    CK_RESULT(full, out);
    CK_OPTIONS(o, report, options);
    q.o = *o;
    CK_RETURN_RESULT(out, full, ck_report_write(&q, &to, &full));
}
