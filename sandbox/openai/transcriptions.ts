// Simulates OpenAI's transcription and translation: JSON, texts, subtitles and events, billed by the second or by tokens. It must
// never recognise speech: its text is invented, and durations come from the file's own header or its size.

import { asString, type JsonObject } from '../json'
import { countTokens, cutIntoPieces } from '../pieces'
import { jsonFrame, jsonReply } from '../replies'
import type { FormField, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { errorReply, headers, unknownModel } from './errors'
import { badRequest, type Fault, invalidValue, missingParameter, quotedList } from './fields'
import { isLenient } from './models'

interface TranscriptionModel {
  formats: readonly string[]
  usage: 'duration' | 'tokens'
  streams: boolean
  translates: boolean
}

const everyFormat = ['json', 'text', 'srt', 'verbose_json', 'vtt']
const byTokens: TranscriptionModel = {
  formats: ['json', 'text'],
  usage: 'tokens',
  streams: true,
  translates: false,
}
export const transcriptionModels = new Map<string, TranscriptionModel>([
  ['whisper-1', { formats: everyFormat, usage: 'duration', streams: false, translates: true }],
  ['gpt-transcribe', { formats: ['json'], usage: 'duration', streams: true, translates: false }],
  ['gpt-4o-transcribe', byTokens],
  ['gpt-4o-mini-transcribe', byTokens],
  ['gpt-4o-mini-transcribe-2025-03-20', byTokens],
  ['gpt-4o-mini-transcribe-2025-12-15', byTokens],
  ['gpt-4o-transcribe-diarize', { ...byTokens, formats: ['json', 'text', 'diarized_json'] }],
])
const lenientModel: TranscriptionModel = {
  formats: [...everyFormat, 'diarized_json'],
  usage: 'duration',
  streams: true,
  translates: true,
}

const extensions = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']
const fileBytesMax = 25 * 1024 * 1024
/** No codec of a file without a plain header needs more: a length is never overstated. */
const bytesPerSecond = 40_000
const audioTokensPerSecond = 10
const wordsPerCue = 8

interface TranscriptionForm {
  fields: JsonObject
  file: File
  model: TranscriptionModel
  format: string
}

export async function answerTranscription(request: VendorRequest): Promise<Reply> {
  const form = readForm(request)
  if ('status' in form) return form
  const { file, format, fields, model } = form
  const seconds = await secondsOf(file)
  const text = request.directives.empty ? '' : spoken(request, file)
  const usage = usageOf(request, form, seconds, text)
  if (format === 'text') return textReply(`${text}\n`)
  if (format === 'srt' || format === 'vtt') return textReply(subtitles(text, seconds, format))
  if (fields.stream === 'true' && model.streams) return streamReply(text, usage)
  const more = format === 'json' ? {} : { task: taskOf(request), duration: seconds }
  const verbose =
    format === 'verbose_json'
      ? { language: 'english', segments: segmentsOf(text, seconds, verboseSegment) }
      : {}
  const diarized = format === 'diarized_json' ? { segments: segmentsOf(text, seconds, speakerSegment) } : {}
  return jsonReply(200, { ...more, text, ...verbose, ...diarized, ...(usage && { usage }) }, headers())
}

/** The transcript of an uploaded file, of a vendor with OpenAI's form of transcription. */
export interface Transcript {
  text: string
  seconds: number
  format: string
}

/** Transcribes the file of a form; returns the error message for a missing file, or an unknown field or format. */
export async function transcribe(
  request: VendorRequest,
  known: { fields: readonly string[]; formats: readonly string[] },
): Promise<Transcript | string> {
  const { form = [] } = request
  const unknown = form.find(([name]) => !['model', 'file', ...known.fields].includes(name))
  if (unknown) return `unknown field: ${unknown[0]}`
  const file = form.find(([name]) => name === 'file')?.[1]
  if (!(file instanceof File)) return 'file is required'
  const format = form.find(([name]) => name === 'response_format')?.[1] ?? 'json'
  if (typeof format !== 'string' || !known.formats.includes(format)) return `unknown format: ${format}`
  const text = request.directives.empty ? '' : spoken(request, file)
  return { text, seconds: request.directives.promptTokens ?? (await secondsOf(file)), format }
}

function readForm(request: VendorRequest): TranscriptionForm | Reply {
  const { form } = request
  if (!form)
    return errorReply(badRequest("Invalid content type: expected 'multipart/form-data'.", null, null))
  const fields: JsonObject = Object.fromEntries(form.filter(([, value]) => typeof value === 'string'))
  const name = asString(fields.model) ?? ''
  const model = isLenient(name) ? lenientModel : transcriptionModels.get(name)
  if (name === '') return errorReply(badRequest('you must provide a model parameter', null, null))
  if (!model || (taskOf(request) === 'translate' && !model.translates)) return unknownModel(name)
  const file = form.find(([field]) => field === 'file')?.[1]
  if (!(file instanceof File)) return errorReply(missingParameter('file'))
  const format = asString(fields.response_format) ?? 'json'
  const fault = findFault(form, format, model, name, file)
  return fault ? errorReply(fault) : { fields, file, model, format }
}

function findFault(
  form: readonly FormField[],
  format: string,
  model: TranscriptionModel,
  name: string,
  file: File,
): Fault | undefined {
  const extension = file.name.split('.').at(-1)?.toLowerCase() ?? ''
  if (!extensions.includes(extension)) {
    const listed = extensions.map((each) => `'${each}'`).join(', ')
    return badRequest(`Invalid file format. Supported formats: [${listed}]`, 'file', 'unsupported_format')
  }
  if (file.size > fileBytesMax) {
    const message = `Maximum content size limit (${fileBytesMax}) exceeded (${file.size} bytes read)`
    return { ...badRequest(message, null, null), status: 413 }
  }
  if (!lenientModel.formats.includes(format)) {
    return invalidValue('response_format', format, lenientModel.formats)
  }
  if (!model.formats.includes(format)) {
    const message = `response_format '${format}' is not compatible with model '${name}'. Use ${quotedList(model.formats)} instead.`
    return badRequest(message, 'response_format', 'unsupported_value')
  }
  const granular = form.some(([field]) => field.startsWith('timestamp_granularities'))
  if (granular && format !== 'verbose_json') {
    const message = "Timestamp granularities are only supported with response_format 'verbose_json'."
    return badRequest(message, 'timestamp_granularities', 'unsupported_value')
  }
  return undefined
}

function taskOf({ path }: VendorRequest): 'translate' | 'transcribe' {
  return path.endsWith('/translations') ? 'translate' : 'transcribe'
}

/** Seconds of a WAV by its header; of other files by their size. */
async function secondsOf(file: File): Promise<number> {
  const head = Buffer.from(await file.slice(0, 44).arrayBuffer())
  const isWav = head.length === 44 && head.toString('latin1', 8, 12) === 'WAVE'
  const rate = isWav ? head.readUInt32LE(28) : bytesPerSecond
  return Math.round((100 * file.size) / Math.max(1, rate)) / 100
}

const filler = ' And these words only make it as long as it was asked to be.'

function spoken({ directives }: VendorRequest, file: File): string {
  const said = `This is the sandbox, which heard nothing of the ${file.size} bytes of ${file.name}.`
  if (directives.tokens === undefined) return said
  const pieces = cutIntoPieces(said + filler.repeat(Math.ceil(directives.tokens / 12)))
  return pieces.slice(0, directives.tokens).join('')
}

function usageOf(
  { directives }: VendorRequest,
  { fields, model }: TranscriptionForm,
  seconds: number,
  text: string,
): JsonObject | undefined {
  if (model.usage === 'duration') {
    const usage = { type: 'duration', seconds: directives.promptTokens ?? Math.ceil(seconds) }
    return reportUsage(usage, directives.usage)
  }
  const prompt = countTokens(asString(fields.prompt) ?? '')
  const audio = directives.promptTokens ?? Math.ceil(seconds * audioTokensPerSecond)
  const output = countTokens(text)
  const usage = {
    type: 'tokens',
    total_tokens: prompt + audio + output,
    input_tokens: prompt + audio,
    input_token_details: { text_tokens: prompt, audio_tokens: audio },
    output_tokens: output,
  }
  return reportUsage(usage, directives.usage)
}

function textReply(text: string): Reply {
  return {
    status: 200,
    headers: headers(),
    body: { kind: 'text', text, contentType: 'text/plain; charset=utf-8' },
  }
}

interface Cue {
  start: number
  end: number
  text: string
}

function cuesOf(text: string, seconds: number): Cue[] {
  const words = text.split(' ').filter((word) => word !== '')
  const count = Math.ceil(words.length / wordsPerCue)
  return Array.from({ length: count }, (_, index) => ({
    start: (seconds * index) / count,
    end: (seconds * (index + 1)) / count,
    text: words.slice(index * wordsPerCue, (index + 1) * wordsPerCue).join(' '),
  }))
}

function subtitles(text: string, seconds: number, format: 'srt' | 'vtt'): string {
  const mark = format === 'srt' ? ',' : '.'
  const cues = cuesOf(text, seconds).map(
    (cue, index) =>
      `${format === 'srt' ? `${index + 1}\n` : ''}${timeOf(cue.start, mark)} --> ${timeOf(cue.end, mark)}\n${cue.text}\n\n`,
  )
  return `${format === 'vtt' ? 'WEBVTT\n\n' : ''}${cues.join('')}`
}

function timeOf(seconds: number, mark: string): string {
  return new Date(Math.round(seconds * 1_000)).toISOString().slice(11, 23).replace('.', mark)
}

function segmentsOf(text: string, seconds: number, segment: (cue: Cue, index: number) => JsonObject) {
  return cuesOf(text, seconds).map(segment)
}

function verboseSegment({ start, end, text }: Cue, id: number): JsonObject {
  const scores = { temperature: 0, avg_logprob: -0.2, compression_ratio: 1.2, no_speech_prob: 0.01 }
  return { id, seek: 0, start, end, text: ` ${text}`, tokens: [50_364], ...scores }
}

function speakerSegment({ start, end, text }: Cue, index: number): JsonObject {
  const speaker = index % 2 === 0 ? 'A' : 'B'
  return { type: 'transcript.text.segment', id: `seg_${index}`, start, end, text: ` ${text}`, speaker }
}

function streamReply(text: string, usage: JsonObject | undefined): Reply {
  const message = 'The server had an error while processing your request. Sorry about that!'
  return {
    status: 200,
    headers: headers(),
    body: {
      kind: 'events',
      stream: {
        frames: cutIntoPieces(text).map((delta) => jsonFrame({ type: 'transcript.text.delta', delta })),
        last: jsonFrame({ type: 'transcript.text.done', text, ...(usage && { usage }) }),
        failure: jsonFrame({
          type: 'error',
          error: { type: 'server_error', code: null, message, param: null },
        }),
      },
    },
  }
}
