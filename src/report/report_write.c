/* report_write.c - writes a report: checks the request, reads the folder, writes the page. */
#include "core/error.h"
#include "core/option.h"
#include "io/file.h"
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

/* Checks everything that can fail early before the report is read, which takes long. */
int ck_report_write(const struct ck_report_request *q, const struct ck_page_target *to,
                    struct coke_report_summary *out)
{
    struct ck_report r = {0};
    struct ck_report_request request = *q;
    int rc = COKE_OK;
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
    CK_TRY(ck_report_read(&r, &request));
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
