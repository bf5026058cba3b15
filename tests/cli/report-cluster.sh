# shellcheck shell=bash
# A page of a clustering, alone, with its vectors, and with images; nothing is overwritten unasked.
py <<'P'
save()
P
coke cluster x.npy -k 4,6 -o c -q >/dev/null || exit 1
coke report c -o a.html -q
coke report c --vectors x.npy -o b.html -q
coke report c --vectors x.npy --images synthetic:n=600,size=16 -o c.html --images-dir pics -q
coke report c -o a.html -q 2>err
[ $? = 2 ] || exit 1
cat err >&2
coke report c -o a.html -q --force >/dev/null || exit 1
coke report c --vectors x.npy -o j.html -q --json > j.json || exit 1
ls pics
py <<'P'
told = json.load(open("j.json"))
assert told["page_bytes"] == os.path.getsize("j.html") and told["pictures"] == 0, told
page = open("a.html", encoding="utf-8").read()
assert "http" not in page.replace("http://www.w3.org/2000/svg", ""), "an address in the page"
P
# Of several files, as they were clustered; on standard output the page alone.
py <<'P'
x = np.load("x.npy")
np.save("first.npy", x[:250])
np.save("second.npy", x[250:])
P
coke report c --vectors first.npy second.npy -o two.html -q >/dev/null && cmp b.html two.html || exit 1
coke report c --vectors x.npy -o /dev/stdout -q 2>told | cmp - b.html && grep -q clusters told
