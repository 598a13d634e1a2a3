// The page of the lines of the log, docs/operate/log.md, made from their table.

import { logEvents } from '../lib/log-events'

export function logPage(): string {
  const rows = Object.entries(logEvents)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, { level, meaning, cure = '' }]) => `| \`${event}\` | ${level} | ${meaning} | ${cure} |`)
  return `# Lines of the log

\`\`\`console elsewhere
$ journalctl -u gateway -o cat -n 1
{"at":"2026-11-28T12:15:51.656Z","level":"info","event":"route_next","request":"req_01a2…","from":"small","to":"large","reason":"…"}
\`\`\`

Made by \`bun run docs\` from the table of lines (\`src/lib/log-events.ts\`); change that.

Each line has the time, a level, its name as \`event\` and its fields. Notifications of operators are [events](events.md). \`log.level\`
decides which are written. The metric \`gateway_log_lines_total\` counts them, written or not, except those of requests.

| Line | Level | Meaning | What helps |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
