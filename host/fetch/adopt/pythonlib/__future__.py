# What a script may import from __future__ is how the interpreter reads it anyway,
# or has no meaning to it.
annotations = division = print_function = unicode_literals = absolute_import = generator_stop = with_statement = None
