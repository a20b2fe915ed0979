# Runs before the prelude of CPython. What most scripts for documents import is in memory
# then; other packages would make each script's module much larger.
import lxml.etree

