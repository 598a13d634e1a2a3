// gateway contexts: saves gateways somewhere else, and which of them commands work on. It must never print a token.

import { resolve } from 'node:path'
import { defineCommand } from 'citty'
import { isName, NAME_RULE } from '../../src/accounts/names'
import { lineOf } from '../../src/lib/error-line'
import { type Context, type Contexts, contextsFile, readContexts, writeContexts } from '../lib/contexts'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { didYouMean } from '../lib/near-names'
import { checked, clientOf, loginProvidersOf, readToken } from '../lib/remote'
import { paint, print, printJson, say } from '../view/output'
import { printTable } from '../view/table'

/** The word for the database of this machine. */
const NONE = 'none'

const nameArg = { type: 'positional', required: true, description: 'The name of the context' } as const
const jsonArg = { json: { type: 'boolean', description: 'Print one JSON document instead of text' } } as const

/** Arguments of commands that save a gateway. */
const newArgs = {
  name: { ...nameArg, description: 'Its name: letters, digits and . _ @ -' },
  server: { type: 'string', required: true, valueHint: 'URL', description: 'The address of its admin API' },
} as const
const caFileArg = {
  type: 'string',
  valueHint: 'FILE',
  description: 'Certificate of an authority that the system does not trust',
} as const
const allowHttpArg = { type: 'boolean', description: 'Allow sending the token unencrypted' } as const

/** The optional settings of a context, from its arguments. */
function placeOf(args: { 'ca-file'?: string | undefined; 'allow-http'?: boolean | undefined }) {
  return {
    ...(args['ca-file'] && { caFile: resolve(args['ca-file']) }),
    ...(args['allow-http'] && { allowHttp: true }),
  }
}

const add = defineCommand({
  meta: {
    name: 'add',
    description: "Save a gateway with an admin's token, and use it from now on.",
    examples: [
      'gateway contexts add rack --server https://gateway.example.com --token @token.txt',
      'GATEWAY_ADMIN_TOKEN=adm-… gateway contexts add rack --server https://10.0.0.5:9090 --ca-file ca.pem',
    ],
  },
  args: {
    ...newArgs,
    token: {
      type: 'string',
      valueHint: 'TOKEN|@FILE',
      description: 'The token of an admin, or its file; @- is standard input (default: GATEWAY_ADMIN_TOKEN)',
    },
    'ca-file': caFileArg,
    'allow-http': allowHttpArg,
    ...jsonArg,
  },
  async run({ args }) {
    const name = validName(args.name)
    const token = readToken(args.token ?? process.env.GATEWAY_ADMIN_TOKEN ?? '')
    if (!token) throw new WrongUsage('Give the token of an admin: --token @FILE, or GATEWAY_ADMIN_TOKEN.')
    const context = checked({ server: args.server, token, ...placeOf(args) })
    await save(name, context, args.json)
  },
})

const login = defineCommand({
  meta: {
    name: 'login',
    description: 'Save a gateway and sign in by its identity provider, in any browser.',
    examples: ['gateway contexts login rack --server https://gateway.example.com'],
  },
  args: {
    ...newArgs,
    provider: {
      type: 'string',
      valueHint: 'NAME',
      description: 'The identity provider, if the gateway has several',
    },
    'ca-file': caFileArg,
    'allow-http': allowHttpArg,
    ...jsonArg,
  },
  async run({ args }) {
    const name = validName(args.name)
    const place = checked({ server: args.server, token: '', ...placeOf(args) })
    const provider = chosenProvider(await loginProvidersOf(place), args.provider)
    const { logIn } = await import('../lib/device-login')
    const loggedIn = await logIn(provider, (address, code) =>
      say(`Open ${address}\nand check that it shows the code ${code}. Waiting for you to sign in …`),
    )
    await save(name, { ...place, ...loggedIn }, args.json)
  },
})

function validName(name: string): string {
  if (isName(name) && name !== NONE) return name
  throw new WrongUsage(`"${name}" is not a valid name: use ${NAME_RULE}.`)
}

function chosenProvider<Provider extends { name: string }>(
  providers: readonly Provider[],
  name: string | undefined,
): Provider {
  const names = providers.map((each) => each.name)
  if (names.length === 0)
    throw new CommandFailed(
      'This gateway has no identity provider for commands: its configuration names none with `tokens.adminApi` and `tokens.cliClientId` in `signIn`.',
    )
  if (name === undefined && names.length > 1)
    throw new WrongUsage(`Choose one with --provider: ${names.join(', ')}.`)
  const found = name === undefined ? providers[0] : providers.find((each) => each.name === name)
  if (found) return found
  throw new WrongUsage(`There is no provider ${name}. There are: ${names.join(', ')}.`)
}

/** Saves a context whose token works, and uses it from now on. */
async function save(name: string, context: Context, isJson: boolean | undefined): Promise<void> {
  // An invalid context is not saved.
  const me = await clientOf(context)
    .call('getMe')
    .catch((error) => {
      throw new CommandFailed(`${lineOf(error)}. Nothing was saved.`)
    })
  const saved = readContexts()
  writeContexts({ current: name, contexts: { ...saved.contexts, [name]: context } })
  if (isJson) return printJson(contextJson(name, context, name))
  print(`Commands now work on ${name} (${context.server}), as ${me.name} with the role ${me.role}.`)
  say(
    `Saved with its token to ${contextsFile()}\nBack to the database of this machine: gateway contexts use none`,
  )
}

const list = defineCommand({
  meta: { name: 'list', description: 'List the saved gateways.', examples: ['gateway contexts list'] },
  args: jsonArg,
  run({ args }) {
    const { current, contexts } = readContexts()
    const rows = Object.entries(contexts).map(([name, context]) => contextJson(name, context, current))
    if (args.json) return printJson(rows)
    if (rows.length === 0)
      return say('There are no contexts. Save one: gateway contexts add NAME --server URL')
    printTable(rows, [
      ['NAME', ({ name }) => name],
      ['IN USE', ({ current }) => (current ? paint('green', 'yes') : '')],
      ['SERVER', ({ server }) => server, { flexible: true }],
    ])
    if (current === null) say('\nCommands work on the database of this machine.')
  },
})

const use = defineCommand({
  meta: {
    name: 'use',
    description: 'Use a saved gateway from now on; the word none: the database of this machine.',
    examples: ['gateway contexts use rack', 'gateway contexts use none'],
  },
  args: { name: nameArg, ...jsonArg },
  run({ args }) {
    const saved = readContexts()
    const current = args.name === NONE ? null : requireSaved(saved, args.name)
    writeContexts({ ...saved, current })
    if (args.json) return printJson({ current })
    print(
      current === null
        ? 'Commands now work on the database of this machine.'
        : `Commands now work on ${current} (${saved.contexts[current]?.server}).`,
    )
  },
})

const remove = defineCommand({
  meta: {
    name: 'remove',
    description:
      'Forget a saved gateway and its token. The token stays valid: revoke it with `admins revoke`.',
    examples: ['gateway contexts remove rack'],
  },
  args: { name: nameArg, ...jsonArg },
  run({ args }) {
    const saved = readContexts()
    const { [requireSaved(saved, args.name)]: _removed, ...contexts } = saved.contexts
    const current = saved.current === args.name ? null : saved.current
    writeContexts({ current, contexts })
    if (args.json) return printJson({ current })
    print(`Removed ${args.name}.`)
    if (saved.current !== current) say('Commands now work on the database of this machine.')
  },
})

export const contexts = defineCommand({
  meta: {
    name: 'contexts',
    description: 'Manage remote gateways that commands work on, over their admin API.',
  },
  subCommands: { add, login, list, use, remove },
})

function requireSaved({ contexts }: Contexts, name: string): string {
  if (Object.hasOwn(contexts, name)) return name
  throw new CommandFailed(`There is no context ${name}.${didYouMean(name, Object.keys(contexts))}`)
}

function contextJson(name: string, { server, caFile }: Context, current: string | null) {
  return { name, server, current: name === current, ca_file: caFile ?? null }
}
