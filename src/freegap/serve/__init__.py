"""The service: a team asks, and nobody reads.

configuration  fields of the configuration file, taken one by one
totals         of accounts: for good, or renewed each month
sources        the tables that may be asked about, and who pays
settings       the whole file: sources, teams, limits
database       of the service: tokens, jobs, and how often somebody asked
people         names, roles and tokens
issuer         people of an OpenID Connect issuer
pace           how often somebody may ask in a minute
questions      what an analyst sends, held against what the owner allows
workers        processes for tasks, with limits on time and memory, and a queue
work           a question answered: the release as the library makes it, charged at every level
plans          before anything is spent: what a question would cost and say
jobs           long questions: asked now, looked at later
desk           who may do what: the verbs of the service, without HTTP
door           what every request passes, and errors in words
app            the verbs over HTTP
"""
