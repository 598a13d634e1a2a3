// Servers of speech that speak OpenAI's API, each with its own differences: formats, media types, required fields, errors and
// events, by their sources in November 2026. They must never accept what the server refuses.

import type { Json } from '../scenario'

/** Answers the body of a request. */
type SpeechServer = (body: Json) => Response

export type SpeechServerName = 'LocalAI' | 'Speaches' | 'Kokoro-FastAPI'

const TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** The content of a file: its format and the text that is spoken. */
export const soundOf = (format: string, input: string) => `${format}: ${input}`

/**
 * mudler/LocalAI: core/http/endpoints/localai/tts.go, AudioConvert of pkg/utils/ffmpeg.go, pkg/audio/identify.go and the error
 * handler of core/http/app.go. Without a format, and for `pcm`, it makes WAV. Opus is in an Ogg file; AAC has no media type of its
 * own. Null is the same as an absent field.
 */
function localai({ model, input, response_format: format, stream }: Json): Response {
  if (!model) return localaiError(400, 'Bad Request')
  if (model === 'missing') return localaiError(404, 'Resource not found')
  if (model === 'broken')
    return localaiError(500, 'rpc error: code = Unknown desc = failed to load the voice')
  const made = stream !== true && ['mp3', 'opus', 'aac', 'flac'].includes(format) ? format : 'wav'
  const types = { ...TYPES, opus: 'audio/ogg', aac: 'application/octet-stream' } as Record<string, string>
  return new Response(soundOf(made, input), {
    headers: {
      'content-type': types[made] as string,
      ...(stream === true
        ? { 'cache-control': 'no-cache' }
        : { 'content-disposition': `attachment; filename="tts.${made === 'opus' ? 'ogg' : made}"` }),
    },
  })
}

/** `schema.ErrorResponse`: the code is a number, and the type is empty. */
function localaiError(code: number, message: string): Response {
  return Response.json({ error: { code, message, type: '' } }, { status: code })
}

/**
 * speaches-ai/speaches: src/speaches/routers/speech.py. The voice is required. Events have raw samples, whatever the format, and
 * zeros instead of tokens.
 */
function speaches({ model, input, voice, response_format: format = 'mp3', speed = 1, ...more }: Json) {
  const given = { model, input, voice, response_format: format, speed, ...more }
  if (voice === undefined) return invalid({ type: 'missing', loc: ['voice'], msg: 'Field required' }, given)
  const fault = nullIn(given)
  if (fault !== undefined)
    return invalid({ type: 'string_type', loc: [fault], msg: 'Input should be a valid string' }, null)
  if (model === 'missing') {
    const detail = `Model '${model}' is not installed locally. You can download the model using \`POST /v1/models\``
    return Response.json({ detail }, { status: 404 })
  }
  if (model === 'broken') return new Response('Internal Server Error', { status: 500 })
  if (speed > 2) {
    const detail = `Speed must be between 0.5 and 2.0, got ${speed}`
    return Response.json({ detail }, { status: 422 })
  }
  if (more.stream_format === 'sse') {
    const audio = Buffer.from(soundOf('samples', input)).toString('base64')
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
    const events = [
      { type: 'speech.audio.delta', audio },
      { type: 'speech.audio.done', token_usage: usage },
    ]
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  return fileOf(format, input)
}

/**
 * remsky/Kokoro-FastAPI: api/src/routers/openai_compatible.py and `OpenAISpeechRequest` of api/src/structures/schemas.py. Voices can
 * be combined. Errors are objects in `detail`.
 */
function kokoro({ model, input, response_format: format = 'mp3', ...more }: Json): Response {
  const { voice = 'af_heart', speed = 1 } = more
  const fault = nullIn({ model, response_format: format, voice, speed })
  if (fault !== undefined)
    return invalid({ type: 'string_type', loc: [fault], msg: 'Input should be a valid string' }, null)
  if (model === 'missing')
    return kokoroError(400, 'invalid_model', `Unsupported model: ${model}`, 'invalid_request_error')
  if (model === 'broken')
    return kokoroError(500, 'processing_error', 'CUDA error: out of memory', 'server_error')
  const unknown = String(voice)
    .split(/[-+]/)
    .find((name) => !/^(af|am)_/.test(name))
  if (unknown !== undefined) {
    const message = `Voice '${unknown}' not found. Available voices: af_heart, am_michael`
    return kokoroError(400, 'validation_error', message, 'invalid_request_error')
  }
  return fileOf(format, input)
}

function kokoroError(status: number, error: string, message: string, type: string): Response {
  return Response.json({ detail: { error, message, type } }, { status })
}

/** A file that grows, of a framework that names the requested format as its media type. */
function fileOf(format: string, input: string): Response {
  if (!(format in TYPES))
    return invalid(
      { type: 'literal_error', loc: ['response_format'], msg: "Input should be 'mp3' …" },
      format,
    )
  const [first = '', ...rest] = soundOf(format, input)
  const body = new ReadableStream({
    start(output) {
      for (const piece of [first, rest.join('')]) output.enqueue(Buffer.from(piece))
      output.close()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': TYPES[format] as string,
      'content-disposition': `attachment; filename=speech.${format}`,
      'cache-control': 'no-cache',
    },
  })
}

/** A field that is null where its schema has a plain type. */
function nullIn(body: Json): string | undefined {
  return Object.keys(body).find((name) => body[name] === null)
}

/** A refusal by the schema of a FastAPI server. */
function invalid(fault: { type: string; loc: string[]; msg: string }, input: Json): Response {
  const detail = [{ ...fault, loc: ['body', ...fault.loc], input }]
  return Response.json({ detail }, { status: 422 })
}

export const speechServers: Record<SpeechServerName, SpeechServer> = {
  LocalAI: localai,
  Speaches: speaches,
  'Kokoro-FastAPI': kokoro,
}
