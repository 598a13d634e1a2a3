// gateway health: queries the health of the server on this machine, for health checks of containers and scripts. It must never ask
// a vendor or need a key.

import { defineCommand } from 'citty'
import { commandArgs } from '../configuration/settings'
import { CommandFailed } from '../lib/errors'
import { askHealth } from '../process/ask-health'
import { serverAddress } from '../process/server-address'
import { print, printJson } from '../view/output'
import { renderBlock } from '../view/table'

export const health = defineCommand({
  meta: {
    name: 'health',
    description: 'Check that the running gateway and its database answer. Exit 1 if not.',
    examples: [
      'gateway health',
      'gateway health --ready --json',
      'gateway health --url http://127.0.0.1:9000',
    ],
  },
  args: {
    url: {
      type: 'string',
      valueHint: 'URL',
      description:
        'Address to ask (default: that of the gateway on the data directory, else of the configuration)',
    },
    ready: {
      type: 'boolean',
      description: 'Check that it is ready for requests: its database accepts changes, its disk has space',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const address = args.url?.replace(/\/+$/, '') ?? (await serverAddress(args))
    const found = await askHealth(address, args.ready ? '/health/ready' : '/health')
    if (args.json) printJson(found)
    const { ok, url, answer, milliseconds, checks } = found
    if (!ok) throw new CommandFailed(`${url}: ${[answer, ...failing(checks)].join('; ')}.`)
    if (args.json) return
    print(`${url}: ${answer}, in ${milliseconds} ms`)
    if (checks) print(renderBlock(Object.entries(checks)))
  },
})

function failing(checks: Record<string, string> | null): string[] {
  return Object.entries(checks ?? {}).flatMap(([name, state]) =>
    state === 'ok' ? [] : [`${name}: ${state}`],
  )
}
