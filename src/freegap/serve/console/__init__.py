"""The console: the verbs of the service as pages in a browser, made on the server, without a script.

sessions    who has signed in, by a cookie
visits      a request, and whether it comes from a page of ours
forms       what a browser sends, as the verbs of the service take it
replies     the policy of every page, and downloads
pictures    charts, as what a template draws
views       what the pages show of releases, accounts and plans
pages       the pages, and who may open them

A page loads its style sheet from the same process and nothing else; its policy allows no script at all.
"""
