// Amazon Bedrock: Claude's messages by InvokeModel, models that only Converse serves, and OpenAI-compatible chat for models that
// have it. Requests are signed (SigV4), or carry a Bedrock key; streams are AWS frames:
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html,
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html.

import { sign } from 'aws4'
import type { Call } from '../../contract/family'
import type { SignedRequest, StreamDecoder, UpstreamKind, UpstreamPlace } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'
import { type Frame, FrameParser } from './bedrock/frames'
import { requestedVersion } from './messages-version'

/** The version for callers of Anthropic's first version, which has its own name at Bedrock. */
const VERSION = 'bedrock-2023-05-31'
/** Models before Claude 4.7, which support no other version here: https://platform.claude.com/docs/en/api/versioning (November 2026). */
const OLDER = /claude-(?:instant|v?[1-3]|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d))?(?![-.]?[7-9](?!\d)))/
const DEFAULT_REGION = 'us-east-1'
/** Credentials as one text: the id of an access key, its secret, and the token of a session. */
const CREDENTIALS = /^((?:AKIA|ASIA)[A-Z0-9]{8,}):([^:]+)(?::(.+))?$/
/** Bedrock's own statuses for a model that takes too long, and for one that fails. */
const USUAL_STATUS: Readonly<Record<number, number>> = { 408: 504, 424: 502 }
/** Refusals that only the operator can fix, although their status blames the caller. */
const OPERATORS = /model identifier is invalid|on-demand throughput|end of its life|security token|signature/i
/**
 * The quota of the operator's account, although its status blames the caller. It "can be resubmitted later", as
 * @aws-sdk/client-bedrock-runtime 3.1164 says, but not when.
 */
const QUOTA_ERROR = 'ServiceQuotaExceededException'
const QUOTA_RETRY_SECONDS = 30
/** Exceptions within a stream, by the class of error that clients of messages know. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  validationException: 'invalid_request_error',
}

/** Events of ConverseStream, by the name of their frame. */
const CONVERSE_EVENTS: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
])

export const bedrock: UpstreamKind = {
  kind: 'bedrock',
  baseUrl: `https://bedrock-runtime.${DEFAULT_REGION}.amazonaws.com`,
  chatFamily: 'bedrock-converse',
  secretVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  prefix: { openai: '/openai/v1', native: '' },
  fileHosts: [],
  baseUrlFor: (place) => `https://bedrock-runtime.${regionOf(place)}.amazonaws.com`,
  headers: (secret): Record<string, string> =>
    CREDENTIALS.test(secret) ? {} : { authorization: `Bearer ${secret}` },
  secretParts: (secret) => CREDENTIALS.exec(secret)?.slice(2).filter(Boolean) ?? [],

  adapt(call, model) {
    if (call.protocol === 'openai') return call
    if (call.path === '/converse') return conversation(call, model)
    return call.path === '/messages' ? invocation(call, model) : undefined
  },

  sign(secret, request, place) {
    const [, accessKeyId, secretAccessKey, sessionToken] = CREDENTIALS.exec(secret) ?? []
    if (accessKeyId === undefined || secretAccessKey === undefined) return {}
    return signature(request, regionOf(place), { accessKeyId, secretAccessKey, sessionToken })
  },

  framing: { contentType: 'application/vnd.amazon.eventstream', createDecoder: () => new Events() },

  error(status, body, header) {
    const { Message: message, ...rest } = asObject(body)
    const shape = readErrorShape(message === undefined ? body : { ...rest, message })
    const operator = [401, 403, 404].includes(status) || OPERATORS.test(shape.message)
    if (header?.('x-amzn-errortype')?.startsWith(QUOTA_ERROR))
      return { ...shape, whose: 'caller', status: 429, retryAfterSeconds: QUOTA_RETRY_SECONDS }
    const usual = USUAL_STATUS[status]
    return {
      ...shape,
      whose: operator ? 'operator' : 'caller',
      ...(usual !== undefined && { status: usual }),
    }
  },
}

function regionOf({ region, baseUrl = '' }: UpstreamPlace): string {
  return region ?? /\bbedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./.exec(baseUrl)?.[1] ?? DEFAULT_REGION
}

/** A call of Converse, with the model in the path. */
function conversation(call: Call, model: string): Call {
  return { ...call, path: `/model/${encodeURIComponent(model)}/converse${call.stream ? '-stream' : ''}` }
}

/** A call for messages as an invocation: the model is in the path, the version and the betas in the body. */
function invocation(call: Call, model: string): Call {
  const { headers = {}, body, ...rest } = call
  const betas = (headers['anthropic-beta'] ?? '').split(',').flatMap((word) => word.trim() || [])
  const set: Record<string, string> = {
    anthropic_version: JSON.stringify((OLDER.test(model) ? undefined : requestedVersion(headers)) ?? VERSION),
    ...(betas.length > 0 && { anthropic_beta: JSON.stringify(betas) }),
  }
  const drop = ['model', 'stream']
  const path = `/model/${encodeURIComponent(model)}/${call.stream ? 'invoke-with-response-stream' : 'invoke'}`
  if (body && 'json' in body) {
    const { model: _model, stream: _stream, ...fields } = asObject(body.json)
    const added = Object.fromEntries(Object.entries(set).map(([name, json]) => [name, JSON.parse(json)]))
    return { ...rest, path, body: { json: { ...fields, ...added } } }
  }
  const edit = body && 'edit' in body ? body.edit : {}
  const { model: _model, stream: _stream, ...kept } = edit.set ?? {}
  return {
    ...rest,
    path,
    body: { edit: { ...edit, set: { ...kept, ...set }, drop: [...(edit.drop ?? []), ...drop] } },
  }
}

function signature(
  { method, host, path, headers, body, at }: SignedRequest,
  region: string,
  {
    accessKeyId,
    secretAccessKey,
    sessionToken,
  }: Record<'accessKeyId' | 'secretAccessKey', string> & {
    sessionToken: string | undefined
  },
): Record<string, string> {
  const { 'content-type': type } = headers
  const date = at.replaceAll(/[-:]|\.\d{3}/g, '')
  const signed = sign(
    {
      service: 'bedrock',
      region,
      host,
      method,
      path,
      body,
      headers: { host, 'x-amz-date': date, ...(type !== undefined && { 'content-type': type }) },
    },
    { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
  )
  return {
    'x-amz-date': date,
    authorization: String(signed.headers?.Authorization),
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
}

/** Frames as server-sent events: the content of a chunk, or the exception that ends the stream. */
class Events implements StreamDecoder {
  private readonly parser = new FrameParser()

  push(bytes: Uint8Array): string {
    return this.parser.push(bytes).map(eventOf).join('')
  }

  end(): void {
    this.parser.end()
  }
}

function eventOf({ headers, payload }: Frame): string {
  const content: unknown = payload.length === 0 ? {} : JSON.parse(payload.toString('utf8'))
  const { bytes, message, p: _padding, ...fields } = asObject(content)
  const type = headers.get(':event-type') ?? ''
  if (headers.get(':message-type') !== 'event') {
    const name = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
    const why = message ?? headers.get(':error-message') ?? name
    return printed({ type: 'error', error: { type: ERROR_TYPES[name] ?? 'api_error', message: String(why) } })
  }
  if (CONVERSE_EVENTS.has(type)) return printed({ [type]: fields })
  // Unknown types of events contain nothing that could be passed on.
  if (typeof bytes !== 'string') return ''
  const text = Buffer.from(bytes, 'base64').toString('utf8')
  return printed(JSON.parse(text), text)
}

/** An event; `text` is its JSON as the vendor wrote it. */
function printed(event: unknown, text = JSON.stringify(event)): string {
  const { type } = asObject(event)
  const name = typeof type === 'string' ? type.replace(/\W/g, '') : 'message'
  // A line break would end the event.
  return `event: ${name}\ndata: ${/[\r\n]/.test(text) ? JSON.stringify(event) : text}\n\n`
}
