# What markdownlint checks.
all
rule 'MD013', line_length: 125, tables: false, ignore_code_blocks: true
# A heading may be a question; lists are numbered through; code may stand within a list.
%w[MD026 MD029 MD031 MD032 MD038 MD040 MD046].each { |rule| exclude_rule rule }
