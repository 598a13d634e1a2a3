// The page of the events of the log, docs/operate/events.md, made from their table.

import { logEvents } from '../lib/log-events'

export function eventsPage(): string {
  const rows = Object.entries(logEvents)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, { level, meaning, cure = '' }]) => `| \`${event}\` | ${level} | ${meaning} | ${cure} |`)
  return `# Events of the log

Made by \`bun run docs\` from the table of events; change that.

Each line has the time, a level, an event and its fields. \`log.level\` says which are written; a metric counts them all
(\`gateway_events_total\`).

| Event | Level | Meaning | What helps |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
