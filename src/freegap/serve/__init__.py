"""The service: a team asks, and nobody reads.

settings    the configuration file: sources, who may ask how much, limits
people      names, roles and tokens
questions   what an analyst sends, held against what the owner allows
work        a question answered in a process of its own, with limits on time and memory
desk        who may do what: the verbs of the service, without HTTP
app         the verbs over HTTP
"""
