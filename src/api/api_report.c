/* api_report.c - public functions of reports. */
#include "core/error.h"
#include "core/option.h"
#include "report/report.h"

#include <string.h>

static int check_folder_name(const char *name)
{
    if (name[0] == 0 || strchr(name, '/') || name[0] == '.')
        return ck_fail(COKE_EUSAGE,
                       "'%s' is no name of a folder beside the page: no '/', no '.' in front",
                       name);
    return COKE_OK;
}

int coke_report_write(const struct coke_report_input *input,
                      const struct ck_report_options *options, const char *page,
                      const char *images_dir, int force, const struct coke_callbacks *callbacks,
                      struct coke_report_summary *out)
{
    struct ck_report r = {0};
    int rc = COKE_OK;
    if (!input || !input->source || !options || !page || !out)
        return ck_fail(COKE_EUSAGE, "coke_report_write: an argument is NULL");
    struct ck_report_request q = {.source = input->source,
                                  .images = input->images,
                                  .vectors = input->vectors,
                                  .nvectors = input->nvectors,
                                  .data = input->data,
                                  .o = *options,
                                  .embed = !images_dir,
                                  .callbacks = callbacks};
    struct ck_page_target to = {page, images_dir, force};
    CK_TRY(ck_options_check(ck_report_option_table(), options));
    if (images_dir)
        CK_TRY(check_folder_name(images_dir));
    if (q.o.budget <= 0)
        q.o.budget = images_dir ? 200 : 20;
    CK_TRY(ck_page_check_target(&to));
    CK_TRY(ck_report_read(&r, &q));
    CK_TRY(ck_page_write(&r, &to, out));
done:
    ck_report_release(&r);
    return rc;
}
