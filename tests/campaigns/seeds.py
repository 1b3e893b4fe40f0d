"""Small real inputs of each format, and words that mean something in it."""

NOTE = """---
title: A note
tags: [one, two/three]
aliases:
  - Other
created: 2025-01-02T03:04:05Z
severity: critical
related: "[[Two#Part|alias]]"
nested: {a: [1, 2.5, null]}
---
# First

Text with [[Two]], [[folder/Three#Part|shown]], [a link](other%20file.md#part), ![image](x.png) and #tag/inner.

## Second `code` \\# not

| a | b |
|---|---|
| 1 | 2 |

```python
# no heading
def f(): return [[no link]]
```

<!-- a comment -->
Setext
======

- item
  > quoted [ref]: http://example.org/a_(b) "title"
"""
TOML_NOTE = '+++\ntitle = "T"\ntags = ["a"]\ndate = 2025-01-02\n[extra]\nn = 1_000\n+++\n\nText.\n'
RST = "Title\n=====\n\n.. _label:\n\nPart\n----\n\n"
RST += "`Link <target.rst>`_ and :ref:`label` and :doc:`/other`.\n\n::\n\n   code\n"
SESSION = b"""\
{"type": "session", "id": "s"}
{"type": "message", "timestamp": "2025-01-02T03:04:05Z", "message": {"role": "user", "content": "How do we deploy?"}}
{"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "By tags."}]}}
{"type": "user", "message": {"role": "user", "content": [{"type": "input_text", "text": "key sk-aaaaaaaaaaaaaaaa"}]}}
{"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi"}}
"""
IGNORED = b"# comment\n*.log\n!keep.log\nbuild/\n/root\na/**/b\n[a-z]?.txt\nfoo\\ \n\\#x\n**/x\n{a,b}.md\n"
CODE = [
    b"import os\n\nclass A(B):\n    '''Doc.'''\n    def f(self, x: int) -> str:\n        return 'x'\n",
    b"export async function f<T>(a: T) { return a; }\nclass B { #p = 1; get x() {} }\nconst g = (a) => a;\n",
    b"pub struct A<'a> { x: &'a str }\nimpl<'a> A<'a> { pub fn f(&self) -> u8 { r#\"x\"#; 1 } }\n"
    b"macro_rules! m { () => {} }\n",
    b"package main\n\nfunc (a *A) F(x int) (string, error) { return `x`, nil }\ntype B interface{ F() }\n",
    b"#include <x.h>\nstruct A { int x; };\nstatic int f(const char *s) { return 0; } /* c */\n",
]
PAGES = [
    b'<!doctype html><html><head><meta charset="utf-8"><title>A &amp; B</title><style>p{}</style></head>'
    b"<body><nav>n</nav>"
    b"<h1>Head</h1><p>Text <b>bold</b> &#x1F600; &nbsp;<a href='/x?y=1#z'>link</a><br><script>if (a<b) {}</script>"
    b"<pre>  code\n</pre><table><tr><td>1</table><!-- c --><![CDATA[d]]><svg><title>t</title></svg></body></html>",
    b"\xff\xfe<\0p\0>\0x\0",
    b"<?xml version='1.0' encoding='iso-8859-1'?><html><p>\xe9</html>",
]
ROBOTS = (
    b"User-agent: *\nDisallow: /a*b$\nAllow: /%2F%e4\nCrawl-delay: 2\n\nUser-agent: septet\nUser-agent: x\nDisallow:\n"
)
URLS = [
    b"https://user:pass@example.org:8080/a/../b?c=d&e#f",
    b"http://[2001:db8::1%25eth0]:80/",
    b"http://xn--bcher-kva.example/\xc3\xbc?q=%F0%9F",
]
TYPES = ["text/html; charset=utf-8", "text/html", "text/html; charset=", "", "text/html; charset=utf-16"]
SETTINGS = [
    b'[tiers.agent]\npath = "v.db"\n[tiers.team]\nurl = "http://127.0.0.1:1/"\ntoken_file = "t"\nweight = 2.0\n',
    b'[embedding]\nprovider = "openai"\nmodel = "m"\napi_key_env = "K"\n'
    b'dimensions = 8\nfallback = ["local"]\n[tiers.a]\npath = "b"\n',
    b"retrieval:\n  profile: septet\n  timeout_ms: 500\n"
    b"policy: {web_enabled: true, searxng_url: 'http://x/'}\nexpansion: {}\n",
    b"embedding:\n  provider: ollama\n  base_url: http://127.0.0.1:1\n  batch_size: 5\n"
    b"tiers: &t {agent: {path: v.db}}\n",
]
IMPORTED = [
    b'{"id": "a", "title": "t", "description": "d", "tags": ["x"], "attrs": {"n": 1}, "created_at": "2025-01-02"}\n'
    b'{"kind": "link", "source": "a", "target": "b"}\n{"title": "u", "vector": [1, 2], "valid_until": 1e10}\n',
    b'[{"title": "t", "parent": "a"}, {"text": "u", "nested": {"a": [1, null]}}]',
    b'id,title,tags,created_at,n\na,"t, u","x,y",2025-01-02,1\nb,"two\nlines",,,\n',
    b"id\ttitle\na\tb\n",
]
QUERIES = [
    b'{"id": "1", "query": "alpha", "relevant": {"a": 2, "b": 0}}\n{"_id": 2, "text": "beta", "relevant": ["a"]}\n',
    b"query-id\tquery\n1\talpha\n2\tbeta\n",
    b"1 0 a 2\n1 0 b 0\n2 0 a 1\n",
    b"query-id\tcorpus-id\tscore\n1\ta\t1.5\n",
]
ASKED = [
    b'"two words" +must -not -"not these" begin* tag:x -kind:memory attrs.n:"a value" created:>=2025-01 domain:a',
    "größe 数据库 getUserName C++ user_name a.b.c ^col:x NEAR(a b) AND OR NOT 'x'".encode(),
]
MESSAGES = [
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'
    b'{"name":"search","arguments":{"query":"alpha","limit":2}}}\n'
    b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"remember","arguments":{"text":"beta"}}}\n'
    b'{"jsonrpc":"2.0","id":4,"method":"ping"}\n'
]


# Words of each format, between blanks.

YAML = r"""
--- ... & * &a *a << : | > |- >+ !! !!binary !!python/object:os !!timestamp ? [ { %YAML ~ 0o7 0x1F 1_0 1:30:00
.inf .nan 2025-13-45 9999-12-31T23:59:59+99:99 <<:
""".split()

MARKDOWN = r"""
# ## ###### === --- ``` ~~~ ```` [[ ]] [[a|b]] [[#x]] ![[ ]( [a]( <!-- --> $$ > - * 1. | |--- \ <div> # #tag
[^1]: :::: .. :: https://x.y/z %20 %ff ../ ./ /abs
""".split()

GLOBS = r"""
* ** **/ /** ? [ ] [! [^ [a-z] [z-a] [[:alpha:]] { } {a,b} \ \ ! # / // . ../ [\]] ,
""".split()

CODES = r'''
def class function fn pub struct impl enum type interface const let var async export ``` ' """ ` /* */ // # { }
( ) => -> <T> :: r#" #define \
'''.split()

HTML = r"""
< </ <! <!-- --> <!DOCTYPE <![ <![CDATA[ ]]> <? ?> &# &#x &#1114112; &#xD800; &amp &notit; <p> </p> <script>
</script> <style> <title> </title> <textarea> <plaintext> <svg> <math> <template> charset=utf-16 charset=utf-7
charset=idna charset=punycode charset=hex <p a=' <a href=" <pre> <noscript>
""".split()

RULES = r"""
User-agent: Disallow: Allow: Crawl-delay: Sitemap: * $ % %2F %zz # : / /*/*/*$ septet
""".split()

PARTS = r"""
http:// https:// HTTP: // / ? # @ : [ ] [:: ::1] [v1.a] % %25 %00 :0 :65536 :99999999999 xn-- xn--a \ .. ö ０ 。
℀
""".split()

SETTING = r'''
[ ] [[ = . , : {} 'x' tiers embedding retrieval policy expansion corpora search external profile provider path
url token_file weight fallback true 1979-05-27T07:32:00Z 0xff nan -inf inf 1e999 {a: *t} &t *t <<: ``` ' """
\u0000 \U00110000
'''.split()

FIELDS = r"""
id title description tags attrs kind parent span vector valid_from valid_until created_at severity domain
source trust links feedback septet export {"septet": 1} "" , ; | " " "a""b" [1] [[ 2025-01-02T03:04:05+01:00
1e999
""".split()

SYNTAX = r"""
" + - * : ( ) ^ " "" ' tag: kind: domain: created:> updated:<= created:2025-13 attrs. attrs.a: severity:
-tag:" NEAR( AND OR NOT -- { } col: 0001 9999-99 >= <= > < .. ́ 한 ا ٣
""".split()

RPC = r"""
"id": "method": "params": "jsonrpc": "2.0" "1.0" tools/call tools/list resources/list prompts/get ping
notifications/cancelled initialize "arguments": "name": search remember get {} [] [{ null 1e999 "\ud800"
"_meta": "progressToken": logging/setLevel
""".split()
PROFILE = """
extends signals factors weights facts cuts floor pinned missing mean null {} [] 0 -1 1e308 1e-320 true NaN
""".split()
