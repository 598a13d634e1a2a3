// Names of keys, accounts and operators: the form shared by all of them. Pure.

/** Not `.` or `..`: in a path these are the folder and the one above, so that no request would reach them. */
const NAME_FORM = /^(?!\.\.?$)[A-Za-z0-9._@-]{1,64}$/
/** The forms of ids. Anything that can be found by name or id must not have a name that looks like an id. */
const ID_FORM = /^(key|adm)_[0-9a-f]{32}$/

export const NAME_RULE = '1 to 64 letters, digits or any of . _ @ -, other than . and ..'

export function isName(text: string): boolean {
  return NAME_FORM.test(text) && !ID_FORM.test(text)
}
