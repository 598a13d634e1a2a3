// gateway env: prints the settings that make a client use this gateway, ready to paste: variables for a shell, a
// command, or a file. Only text to paste is written to standard output, so that `eval` can read it. It must never print a secret
// that it was not given.

import { defineCommand } from 'citty'
import { isSecret } from '../../src/accounts/keys'
import {
  assignment,
  type ClientName,
  clientNames,
  clients,
  MODEL_PLACEHOLDER,
  type Shell,
  shells,
} from '../../src/api-document/clients'
import type { Config } from '../../src/config/schema'
import { idOf, listModels, noModel } from '../configuration/catalogue'
import { commandArgs, dataDirOf, loadConfig, type SettingsFlags } from '../configuration/settings'
import { WrongUsage } from '../lib/errors'
import { parseWord } from '../lib/values'
import { askServer } from '../process/control'
import { callable, listeningAddress } from '../process/server-address'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'

const KEY_PLACEHOLDER = 'sk-YOUR-KEY'
const WEBHOOK_PLACEHOLDER = 'whsec_YOUR-SECRET'

export const env = defineCommand({
  meta: {
    name: 'env',
    description:
      'Print the settings that make a client use this gateway: variables of a shell, a command, or a file.',
    examples: [
      'gateway env openai --key sk-…',
      'gateway env claude-code --model claude-sonnet-5-5 --shell fish',
      'gateway env codex --model gpt-5.5',
      'gateway env mcp --url https://ai.example.com',
      `gateway env openai --json | jq -r .variables.OPENAI_BASE_URL`,
    ],
  },
  args: {
    client: {
      type: 'positional',
      required: true,
      valueHint: clientNames.join('|'),
      description: `The client: ${clientNames.join(', ')}`,
    },
    key: {
      type: 'string',
      valueHint: 'SECRET',
      description: 'The secret of the key, or of its webhooks for webhook (default: a placeholder)',
    },
    model: {
      type: 'string',
      valueHint: 'ID',
      description:
        'The model of claude-code, codex, opencode or continue (default: the first that is ready; for claude-code its own names, see aliases)',
    },
    shell: {
      type: 'string',
      valueHint: 'NAME',
      description: `The shell: ${shells.join(', ')} (default: powershell on Windows, else sh)`,
    },
    url: {
      type: 'string',
      valueHint: 'URL',
      description:
        'Address of the gateway (default: server.publicUrl, else where it serves from the data directory, else its host and port)',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const client = clientOf(args.client)
    const shell = args.shell === undefined ? ownShell() : parseWord('shell', args.shell, shells)
    const secret = secretOf(client, args.key)
    const { config } = await loadConfig(args)
    const url = args.url === undefined ? await addressFor(config, args) : parseUrl(args.url)
    const model = modelOf(client, args.model, config, args)
    const { variables, command, file, steps } = clients[client].settings({ url, secret, model })
    if (args.json) {
      return printJson({ client, url, variables, command: command ?? null, file: file ?? null })
    }
    // A file is pasted; the variable that it names is set next to it.
    const assignments = Object.entries(variables).map(([name, value]) => assignment(shell, name, value))
    if (file) {
      say(`Put this into ${file.path}:\n`)
      print(file.content)
      if (assignments.length > 0) say(['\nAnd set the secret in the shell:\n', ...assignments].join('\n'))
      if (model === undefined && clients[client].needsModel)
        say(`\nReplace ${MODEL_PLACEHOLDER} with the id of a model: no model for this client is ready.`)
    } else for (const line of assignments) print(line)
    if (command !== undefined) print(command)
    for (const line of steps ?? []) print(line)
    for (const line of hints(client, args)) say(line)
  },
})

function hints(client: ClientName, args: SettingsFlags & { key?: string | undefined }): string[] {
  const isWebhook = client === 'webhook'
  const check =
    'Verify each webhook with it: headers webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks).'
  if (args.key !== undefined) return isWebhook ? [check] : []
  if (isWebhook) {
    return [
      `\nReplace ${WEBHOOK_PLACEHOLDER} with the webhook secret of your key.`,
      `It was shown when the key was made. A new one: ${commandLineOf('keys roll-webhook NAME', args)}`,
      check,
    ]
  }
  return [
    `\nReplace ${KEY_PLACEHOLDER} with the secret of your key, shown when it was made.`,
    `A new key: ${commandLineOf('keys create NAME --balance 5', args)}`,
    `A new secret for a key: ${commandLineOf('keys roll NAME', args)}`,
  ]
}

function clientOf(word: string): ClientName {
  const client = clientNames.find((candidate) => candidate === word)
  if (!client) throw new WrongUsage(`CLIENT is one of ${clientNames.join(', ')}, not "${word}".`)
  return client
}

/** The secret to print. A secret that was cut off when copied is refused here, rather than later by a 401. */
function secretOf(client: ClientName, text: string | undefined): string {
  if (client === 'webhook') {
    if (text === undefined) return WEBHOOK_PLACEHOLDER
    if (/^whsec_[A-Za-z0-9+/]{20,}={0,2}$/.test(text)) return text
    throw new WrongUsage('--key takes a webhook secret here, which begins with whsec_.')
  }
  if (text === undefined) return KEY_PLACEHOLDER
  if (isSecret(text)) return text
  throw new WrongUsage(
    '--key takes a whole secret of this gateway, which begins with sk-; this one is cut, mistyped or from elsewhere.',
  )
}

/** The model for a client whose settings name one: the caller's choice, or the first available one. */
function modelOf(
  client: ClientName,
  id: string | undefined,
  config: Config,
  flags: SettingsFlags,
): string | undefined {
  const { operation, needsModel } = clients[client]
  if (!operation) {
    if (id === undefined) return undefined
    const named = clientNames.filter((name) => clients[name].operation).join(', ')
    throw new WrongUsage(`--model is for ${named}; other clients name a model in each request.`)
  }
  if (id === undefined && !needsModel) return undefined
  const serving = listModels(config, flags).filter(({ forms }) =>
    forms.some(({ family }) => family.operation === operation),
  )
  if (id === undefined) return serving.find(({ reason }) => reason === null)?.model.id
  // The name is printed as given: clients know some models by their names, and the gateway knows aliases.
  const known = idOf(config, id)
  if (serving.some(({ model }) => model.id === known) || isRouteTo(config, known, serving)) return id
  throw noModel(config, [id], ` for ${operation}`)
}

function isRouteTo(config: Config, id: string, serving: ReturnType<typeof listModels>): boolean {
  const entry = config.models[id]
  return (
    entry !== undefined &&
    'route' in entry &&
    entry.route.some((target) => serving.some(({ model }) => model.id === target))
  )
}

/** The operator's URL, otherwise that of the serving gateway, otherwise the one in the configuration. */
async function addressFor(config: Config, flags: SettingsFlags): Promise<string> {
  const running = config.server?.publicUrl ? undefined : await askServer(dataDirOf(flags), 'GET /status')
  // Clients do not reach a unix socket.
  return running && !running.url.startsWith('unix:') ? callable(running.url) : addressOf(config, process.env)
}

/** The address for callers on this machine, unless the operator sets another one. */
export function addressOf({ server = {} }: Config, environment: Record<string, string | undefined>): string {
  if (server.publicUrl) return server.publicUrl.replace(/\/+$/, '')
  const { unixSocket: _socket, ...reached } = server
  return listeningAddress({ server: reached }, environment)
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new WrongUsage(`--url takes an address such as https://ai.example.com, not "${text}".`)
  const address = text.replace(/\/+$/, '')
  if (address.endsWith('/v1'))
    throw new WrongUsage('--url takes the address without /v1, which is added where a client needs it.')
  return address
}

function ownShell(): Shell {
  return process.platform === 'win32' ? 'powershell' : 'sh'
}
