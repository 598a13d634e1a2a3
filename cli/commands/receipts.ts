// gateway receipts: shows and replaces the key that signs receipts, and checks a file of receipts without a gateway.

import { readFileSync } from 'node:fs'
import { defineCommand } from 'citty'
import { publicKeysIn } from '../../src/billing/receipts/jws'
import {
  type CheckedMonth,
  type CheckedReceipt,
  checkReceipts,
} from '../../src/billing/receipts/receipt-file'
import { lineOf } from '../../src/lib/error-line'
import { formatUsd, parseUsd } from '../../src/lib/money'
import { CommandFailed } from '../lib/errors'
import { gatewayCommand } from '../lib/gateway'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'

const key = gatewayCommand({
  name: 'key',
  description: 'Print the public keys for checking receipts, as a JSON Web Key Set.',
  examples: ['gateway receipts key > keys.json'],
  run: () => async (gateway) => printJson({ keys: (await gateway.call('listReceiptKeys')).keys }),
})

const rotate = gatewayCommand({
  name: 'rotate',
  description:
    'Sign receipts with a new key from now on. Older ones are still checked with the key before it.',
  examples: ['gateway receipts rotate'],
  run: (args) => async (gateway) => {
    const { keys } = await gateway.call('rotateReceiptKey')
    if (args.json) return printJson({ keys })
    say(`Receipts are signed with a new key. Publish it: ${commandLineOf('receipts key', args)} > keys.json`)
  },
})

const verify = defineCommand({
  meta: {
    name: 'verify',
    description:
      'Check a file of receipts, one a line, with public keys. It needs no server and no database.',
    examples: ['gateway receipts verify receipts.txt --key keys.json'],
  },
  args: {
    file: { type: 'positional', required: true, description: 'The file of receipts and proofs' },
    key: {
      type: 'string',
      valueHint: 'FILE',
      required: true,
      description: 'The file of `gateway receipts key`, or of GET /v1/receipts/keys',
    },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  run({ args }) {
    const { receipts, months, faults } = checkReceipts(readText(args.file), keysIn(args.key))
    if (args.json)
      printJson({ receipts: receipts.map(({ text: _text, ...receipt }) => receipt), months, faults })
    else {
      if (receipts.length > 0) print(summary(receipts))
      for (const month of months) print(proofText(month))
    }
    if (faults.length > 0) throw new CommandFailed('These are not right:', faults)
    if (receipts.length + months.length === 0) throw new CommandFailed(`There is no receipt in ${args.file}.`)
  },
})

export const receipts = defineCommand({
  meta: { name: 'receipts', description: 'Verify signed receipts, and manage their keys.' },
  subCommands: { key, rotate, verify },
})

function summary(receipts: readonly CheckedReceipt[]): string {
  const sumNano = receipts.reduce((sum, { amount_usd: usd }) => sum + BigInt(parseUsd(usd) ?? 0), 0n)
  const count = receipts.length === 1 ? '1 receipt is' : `${receipts.length} receipts are`
  return `${count} genuine, of $${formatUsd(sumNano)} together.`
}

function proofText({ account, month, charges, amount_usd: usd }: CheckedMonth): string {
  const count = charges === 1 ? 'the 1 charge is' : `all ${charges} charges are`
  return `${account} in ${month}: ${count} as sealed, of $${usd} together.`
}

function keysIn(file: string): ReturnType<typeof publicKeysIn> {
  try {
    return publicKeysIn(readText(file))
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed(`${file} has no public keys: ${lineOf(error)}.`)
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${lineOf(error)}.`)
  }
}
