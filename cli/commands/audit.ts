// gateway audit: shows the changes by operators: who changed what, with the values before and after. It must never write.

import { asObject } from '../../src/lib/objects'
import { gatewayCommand } from '../lib/gateway'
import { limitArg, parseLimit } from '../lib/values'
import { printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { shortTime, timeAgo } from '../view/times'

const DEFAULT_LIMIT = 50

export const audit = gatewayCommand({
  name: 'audit',
  description: 'Show changes by operators, newest first: actor, action, and values before and after.',
  examples: [
    'gateway audit --since 7d',
    'gateway audit --actor ada --action account.credit',
    'gateway audit --target key:alice --json | jq .[0].before',
  ],
  args: {
    actor: {
      type: 'string',
      valueHint: 'NAME',
      description: 'Only changes by this admin, or by cli:USER@HOST',
    },
    action: { type: 'string', valueHint: 'WORD', description: 'Only this action, such as key.update' },
    target: { type: 'string', valueHint: 'T', description: 'Only changes of this object, such as key:alice' },
    since: { type: 'string', valueHint: '7d', description: 'Only those newer than this' },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const { actor, action, target } = args
    const since = timeAgo('since', args.since, Date.now())
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const entries = await gateway.rows('listAudit', { query: { actor, action, target, since } }, limit)
      if (args.json) return printJson(entries)
      if (entries.length === 0) return say('There are no such changes.')
      printTable(entries, [
        ['TIME (UTC)', ({ at }) => shortTime(Date.parse(at))],
        ['WHO', ({ actor: who }) => who, { flexible: true }],
        ['WHAT', ({ action: what }) => what],
        ['OF', ({ target: of }) => of, { flexible: true }],
        [
          'CHANGE',
          ({ before, after }) => changeText(before, after),
          { flexible: true, widthMin: 30, optional: true },
        ],
      ])
    }
  },
})

/** Changed fields, each with the values before and after. */
function changeText(before: unknown, after: unknown): string {
  const [was, is] = [asObject(before), asObject(after)]
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => !Bun.deepEquals(was[name], is[name]))
    .map((name) => {
      if (!(name in was)) return `${name}: ${JSON.stringify(is[name])}`
      const now = name in is ? ` -> ${JSON.stringify(is[name])}` : ' before'
      return `${name}: ${JSON.stringify(was[name])}${now}`
    })
    .join(', ')
}
