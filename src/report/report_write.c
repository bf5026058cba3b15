/* report_write.c - writes a report: checks the request, reads the folder, writes the page. */
#include "core/error.h"
#include "core/option.h"
#include "io/file.h"
#include "report/compare.h"
#include "report/report.h"

#include <string.h>
#include <unistd.h>

static int check_folder_name(const char *name)
{
    if (name[0] == 0 || strchr(name, '/') || name[0] == '.')
        return ck_fail(
            COKE_EUSAGE,
            "'%s' is not the name of a folder beside the page: it must not contain '/' "
            "or begin with '.'",
            name);
    return COKE_OK;
}

/* The page of a run without clusters: its curves. What shows clusters is refused. */
static int write_curves(const struct ck_report_request *q, const struct ck_page_target *to,
                        struct coke_report_summary *out)
{
    const char *option = q->table         ? "table"
                         : q->images      ? "images"
                         : to->images_dir ? "images-dir"
                                          : NULL;
    if (option)
        return ck_fail(COKE_EUSAGE,
                       "%s: the method of %s has no clusters, only curves; leave it out",
                       option, q->source);
    return ck_compare_write(&q->source, 1, to, out);
}

/* Checks everything that can fail early before the report is read, which takes long. */
int ck_report_write(const struct ck_report_request *q, const struct ck_page_target *to,
                    struct coke_report_summary *out)
{
    struct ck_report r = {0};
    struct ck_report_request request = *q;
    int rc = COKE_OK, no_clusters = 0;
    CK_TRY(ck_options_check(ck_report_option_table(), &q->o));
    if (to->images_dir)
        CK_TRY(check_folder_name(to->images_dir));
    request.embed = !to->images_dir;
    if (request.o.budget <= 0)
        request.o.budget = to->images_dir ? 200 : 20;
    if (to->page)
        CK_TRY(ck_page_check_target(to));
    if (q->table)
        CK_TRY(ck_file_check_target(q->table, to->force));
    request.no_clusters = &no_clusters;
    rc = ck_report_read(&r, &request);
    if (rc && no_clusters)
        return write_curves(q, to, out);
    CK_TRY(rc);
    if (q->table)
        CK_TRY(ck_cluster_table_write(&r, q->table, to->force));
    *out = (struct coke_report_summary){.heads = r.heads};
    for (int h = 0; h < r.heads; h++)
        out->clusters += r.head[h].k;
    if (to->page)
        rc = ck_page_write(&r, to, out);
    if (rc && q->table && !to->force) /* both or none */
        unlink(q->table);
done:
    ck_report_release(&r);
    return rc;
}
