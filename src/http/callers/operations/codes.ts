// POST /v1/codes/redeem: a code is credited to the account of the calling key. Attempts are counted before a code is looked up. It
// must never reveal which account redeemed a code.

import { Type } from '@sinclair/typebox'
import { named, text } from '../../../api-operation/schemas'
import { refusing } from '../../../api-operation/values'
import { balanceOf } from '../../../billing/ledger/balances'
import { CODE_ATTEMPTS, type Code, countCodeAttempt, redeemCode } from '../../../billing/selling/codes'
import type { ErrorCode } from '../../../lib/error-codes'
import { GatewayError, invalidRequest, SHOULD_RETRY } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { callerOperation } from '../operation'

const CodeText = refusing(Type.String({ minLength: 1 }), () =>
  invalidRequest('code', "Missing required parameter: 'code'.", 'missing_required_parameter'),
)

const CodeRedemption = named(
  'CodeRedemption',
  {
    id: text,
    object: Type.Literal('code_redemption'),
    amount_usd: text,
    account: text,
    balance_usd: text,
    available_usd: text,
  },
  {
    id: 'code_123',
    object: 'code_redemption',
    amount_usd: '5.00',
    account: 'alice',
    balance_usd: '7.50',
    available_usd: '7.40',
  },
)

const redeem = callerOperation(CodeRedemption)({
  id: 'redeemCode',
  endpoint: 'POST /v1/codes/redeem',
  tag: 'Gateway',
  summary: 'Redeem a code',
  description: 'Adds what it is worth to the account of the key, once.',
  isPrivate: true,
  entrance: 'code',
  body: Type.Object({ code: CodeText }, { examples: [{ code: 'AAAAA-BBBBB-CCCCC-DDDDD-EEEEE' }] }),
  answers: 'The added amount, and the current balance of the account.',
  errors: ['unredeemed'],
  missing: codeNotFound(),
  async run({ world: { db, now }, key }, _query, { code: text }) {
    const { account } = key
    const at = now()
    if (!(await countCodeAttempt(db, key.id, at))) throw tooManyAttempts(at)
    const result = await redeemCode(db, { text, account, keyId: key.id, now: at }).catch((error) => {
      if (error instanceof RangeError) throw refused(409, 'balance_too_large', error.message)
      throw error
    })
    if ('refusedBy' in result) throw refusalOfCode(result, account)
    const balance = await balanceOf(db, account)
    return {
      object: 'code_redemption',
      id: result.redeemed.id,
      amount_usd: formatUsd(result.redeemed.amountNano),
      account,
      balance_usd: formatUsd(balance?.balanceNano ?? 0),
      available_usd: formatUsd(balance?.availableNano ?? 0),
    }
  },
})

function refusalOfCode(
  { refusedBy, code }: { refusedBy: string; code?: Code },
  account: string,
): GatewayError {
  if (refusedBy === 'unknown') return codeNotFound()
  if (refusedBy === 'revoked')
    return refused(410, 'code_revoked', 'This code was revoked. Ask where it came from for another one.')
  if (refusedBy === 'expired')
    return refused(410, 'code_expired', 'This code has expired. Ask where it came from for another one.')
  const isOwn = code?.redeemedBy === account
  return refused(
    409,
    'code_redeemed',
    isOwn
      ? `This code was redeemed before, for this account: $${formatUsd(code?.amountNano ?? 0)} are on it.`
      : 'This code was redeemed before. Each code can be redeemed once.',
  )
}

function codeNotFound(): GatewayError {
  return refused(404, 'code_not_found', 'There is no such code. Check it for typing errors.')
}

/** An error that the same request will get again. */
function refused(status: number, code: ErrorCode, message: string): GatewayError {
  return new GatewayError(status, { code, message, param: 'code', headers: { [SHOULD_RETRY]: 'false' } })
}

function tooManyAttempts(now: number): GatewayError {
  const seconds = 60 - (Math.floor(now / 1_000) % 60)
  return new GatewayError(429, {
    code: 'Throttling.RateQuota',
    message: `A key may try ${CODE_ATTEMPTS.ofKey} codes a minute. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  })
}

export const redeemOperations = [redeem]
