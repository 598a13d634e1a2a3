// The page of error codes, docs/operate/error-codes.md, made from their table.

import { errorCodes } from '../lib/error-codes'
import { canRepeatHelp } from '../lib/errors'

export function errorCodesPage(): string {
  const rows = Object.entries(errorCodes)
    .sort(([one], [other]) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
    .map(([code, { statuses, meaning, cure, look, repeat }]) => {
      const helps = repeat ?? (statuses.some((status) => canRepeatHelp(status)) ? 'yes' : 'no')
      const shown = look === undefined ? '' : `\`${look}\``
      return `| \`${code}\` | ${statuses.join(', ')} | ${meaning} | ${cure} | ${shown} | ${helps} |`
    })
  return `# Error codes

Made by \`bun run docs\` from the table of error codes; change that.

An error is looked up by its id: \`gateway requests show ID\` has its text, its attempts and its times, and the log has its
causes. Where another command shows more, it is in the row. Codes without a status are those of videos and responses that
were begun before. Other codes are of vendors, as they spelled them: ask their documentation.

| Code | Status | Meaning | What helps | See why | A repeat helps |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}
