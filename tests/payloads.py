"""Texts that attack the languages they are put into, and a reader that sees if they succeed."""

from html.parser import HTMLParser

PAYLOADS = [
    # HTML
    "<script>document.title = 'PWNED'</script>",
    "</script><script>document.title = 'PWNED'</script>",
    "<img src=x onerror=\"document.title = 'PWNED'\">",
    '"><svg onload="document.title=\'PWNED\'">',
    "' onmouseover='document.title=1' x='",
    '" autofocus onfocus="document.title=1',
    "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe>",
    "<a href=\"javascript:document.title='PWNED'\">click</a>",
    '<a href="table.csv" download>',
    "</td></tr></table><h1>PWNED</h1>",
    "</style><script>document.title = 1</script>",
    "</title><script>document.title = 1</script>",
    "<!-- <script>",
    "-->",
    "<![CDATA[ <b> ]]>",
    "&lt;b&gt; &amp; &#60;i&#62; &quot;",
    "&",
    "<base href='https://example.org/'>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "no",
    # Jinja2
    "{{ cycler.__init__.__globals__.os.popen('touch PWNED').read() }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% for x in range(9) %}PWNED{% endfor %}",
    "{% include '/etc/passwd' %}",
    "{% endraw %}{{ 7 * 7 }}{% raw %}",
    "{# a comment that would vanish #}",
    "{{ 7 * 7",
    "}} {{",
    "{%- raw -%}",
    "# for x in y",
    # reStructuredText
    ".. raw:: html\n\n   <script>document.title = 1</script>",
    ".. include:: /etc/passwd",
    "\n\n.. raw:: html\n   :file: /etc/passwd\n\n",
    "line\n\nTitle\n=====\n\ntext",
    "\x0b.. include:: /etc/passwd\x85.. include:: /etc/passwd\u2028.. include:: /etc/passwd",
    "`link <javascript:alert(1)>`_ and |substitution| and *emphasis* and [1]_",
    ":raw-html:`<b>`",
    "reference_ ``literal`` ::",
    "- - - * + | >>> __ _`target`",
    # Python's and Snakemake's formats, shells, CSV, formulas of TeX
    "{wildcards.dataset} {0} {input.data!r}",
    "%s %(name)s %n",
    "$(touch PWNED) `touch PWNED` ; touch PWNED",
    '=HYPERLINK("https://example.org","PWNED")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "$\\frac{1}{0}$ \\u003cscript\\u003e \\",
    # Odd characters
    "a\tb\r\nc",
    "ends with a quote'",
    "\u202eright to left",
    "\ufeffbyte order mark",
    "x" * 500,
]


class Shown(HTMLParser):
    """A page as ``shape`` (tags and names of attributes), ``cells`` of tables and all ``text``."""

    def __init__(self, page):
        super().__init__()
        self.shape, self.cells, self.text, self.open = [], [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.shape.append((tag, tuple(name for name, _ in attrs)))
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        self.shape.append(tag)
        self.open = [name for name in self.open if name != tag]

    def handle_comment(self, data):
        self.shape.append(("comment", data))

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text += data
            if "td" in self.open:
                self.cells[-1] += data


def words(text):
    """Text without the white space that no browser shows."""
    return " ".join(text.replace("\x00", "").split())
