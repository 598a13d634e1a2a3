// Everything that a family makes of a request, as one value: the outcome of the whole check, the calls to the vendor, what
// is held, and what is reported of it. It runs the check of the request line itself.

import type { Key } from '../../../src/accounts/keys'
import type { AnswerContext, MadeFamily, Model, ParsedRequest } from '../../../src/contract/family'
import { operationOf } from '../../../src/contract/operations'
import { GatewayError } from '../../../src/lib/errors'
import { checkRequest } from '../../../src/request/check'
import type { Json } from '../scenario'
import { openContext } from './sealed'

const AT = 1_770_000_000_000

/** Limits of output below the caller's, as requests have that their account cannot pay in full. */
const LOWER_LIMITS = [1, 20, 2_000]

/** Refusals after which some families send another call. */
const refusals: Readonly<Record<string, GatewayError>> = {
  summary: new GatewayError(400, { code: 'unsupported_value', message: 'No.', param: 'reasoning.summary' }),
  reasoning: new GatewayError(400, { code: 'invalid_encrypted_content', message: 'No.' } as never),
  unverified: new GatewayError(400, {
    code: 'invalid_value',
    message: 'The encrypted content for item rs_1 could not be verified.',
  }),
  other: new GatewayError(400, { code: 'invalid_value', message: 'No.', param: 'model' }),
}

/** The request as a model's family checks it. Throws what the caller would get. */
export function checked(model: Model, text: string): ParsedRequest {
  const body = JSON.parse(text) as Record<string, unknown>
  const given = { body, byteLength: Buffer.byteLength(text), source: undefined, fingerprint: text }
  const { operation } = model.family
  const answer = contextFor(model)
  const read = { operation: operationOf(operation), key: {} as Key, given, form: undefined }
  return checkRequest({ ...read, candidates: [model], ...(answer && { answer }) }, { headers: {} }, AT).parsed
}

/** The context of the answer: of operations that keep answers, and of families that seal reasoning. */
function contextFor({ family }: Model): AnswerContext | undefined {
  return family.operation === 'responses' || family.seals ? openContext : undefined
}

/** The outcome of a request; `text` is its body as the caller sends it. */
export function requestOutcome(model: Model, text: string): Json {
  const family = model.family as unknown as MadeFamily
  const outcome: Json = { takes: attempt(() => family.takes?.(JSON.parse(text), model)) }
  let parsed: ParsedRequest
  try {
    parsed = checked(model, text)
  } catch (error) {
    return { ...outcome, check: reported(error) }
  }
  const { body } = parsed
  const callWith = (outputTokens?: number) =>
    attempt(() =>
      // One call is as good as a list of one.
      [family.call(outputTokens === undefined ? parsed : { ...parsed, outputTokens }, model)].flat(),
    )
  const lean = { byteLength: 40, textTokens: 11, firstTokens: 5 }
  return {
    ...outcome,
    check: 'accepted',
    call: callWith(),
    limited: LOWER_LIMITS.map(callWith),
    quote: [
      attempt(() => family.quote(parsed, model)),
      attempt(() => family.quote({ ...parsed, outputTokens: 20 }, model)),
      attempt(() => family.quote({ ...parsed, lean }, model)),
      attempt(() => family.quote({ ...parsed, lean: { ...lean, textTokens: undefined } }, model)),
    ],
    output: attempt(() => family.output?.(body, model)),
    texts: attempt(() => family.texts?.(body, model)),
    mediaTokens: attempt(() => family.mediaTokens?.(body, model)),
    ignored: attempt(() => family.ignored?.(body, model) ?? []),
    tier: attempt(() => family.tier?.(body, model)),
    showsUsage: attempt(() => family.stream?.showsUsage(body)),
    ...(family.callAfter && {
      callAfter: Object.entries(refusals).map(([, refusal]) =>
        attempt(() => family.callAfter?.(refusal, parsed, model)),
      ),
    }),
    body,
  }
}

/** The fixed parts of a family, without the notes of its table, which are words for people. */
export function contractOf(family: MadeFamily, models: readonly Model[]): Json {
  const {
    kind,
    isSeparable,
    name,
    operation,
    units,
    dialect,
    over,
    seals,
    ignoresUnknown,
    body,
    fieldRules,
    plain,
  } = family
  const rows = (family.bridge ?? []).map(({ note: _, unless, plain: values, ...row }) => ({
    ...row,
    plain: String(values),
    hasExceptions: unless !== undefined,
  }))
  return {
    ...{ kind, isSeparable, name, operation, units, dialect, over, seals, ignoresUnknown },
    fields: Object.keys(body.properties ?? {}),
    models: models.map((model) => [
      model.id,
      family.serves?.(model) ?? true,
      family.takesSome?.(model),
      family.ignoredFor?.(model.traits) ?? [],
    ]),
    plain: [plain.fields, ...models.map((model) => plain.body({ text: 'Hi' }, model))],
    end: family.stream?.end,
    bridge: Object.fromEntries(rows.map((row) => [row.field, row])),
    rules: Object.fromEntries((fieldRules ?? []).map((rule) => [rule.field, String(Object.entries(rule))])),
  }
}

/** The result of a function, or what it throws. */
export function attempt(make: () => unknown): Json {
  try {
    return make()
  } catch (error) {
    return reported(error)
  }
}

function reported(error: unknown): Json {
  if (!(error instanceof GatewayError)) return { thrown: String(error) }
  const { status, code, param, message, details, dialect } = error
  return { refused: { status, code, param, message, details, dialect } }
}
