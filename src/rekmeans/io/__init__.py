"""Files: tables read by the ending of their names, saved models, outputs that appear complete or
not at all.
"""
