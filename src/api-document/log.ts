// The page of the lines of the log, docs/operate/log.md, made from their table.

import { logEvents } from '../lib/log-events'

export function logPage(): string {
  const rows = Object.entries(logEvents)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, { level, meaning, cure = '' }]) => `| \`${event}\` | ${level} | ${meaning} | ${cure} |`)
  return `# Lines of the log

Made by \`bun run docs\` from the table of lines (\`src/lib/log-events.ts\`); change that.

Each line has the time, a level, its name as \`event\` and its fields. Notifications of operators are [events](events.md). \`log.level\` says which are written. A metric counts
them, written or not, except those of requests (\`gateway_log_lines_total\`).

| Line | Level | Meaning | What helps |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
