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

\`\`\`sh
gateway requests show ID   # the text of an error by the id of its request, its attempts and its times
\`\`\`

Made by \`bun run docs\` from the table of error codes; change that.

An error is looked up by its id, which is \`x-request-id\` of the answer. The log has its causes. Where another command shows more, the
row names it. Codes without a status are those of videos and responses that were begun before. Other codes are vendors' own: see their
documentation.

| Code | Status | Meaning | What helps | See why | A repeat helps |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}
