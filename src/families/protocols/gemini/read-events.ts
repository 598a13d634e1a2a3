// Reads the events of generateContent into a writer, and whole replies as one event: texts and thoughts arrive in pieces, calls
// whole. It must never throw, and never lose or repeat a piece; parts of unknown kinds, and pictures, are omitted.

import { asObject, asText, isObject } from '../../../lib/objects'
import type { AnswerReader, AnswerWriter, CallItem, TextItem, ThinkingItem } from '../../conversation/answer'
import type { GeminiReasoning } from '../../sealed-reasoning'
import { blockIn, candidateIn, geminiStop, partsIn, serviceTierIn, thinkingTokensIn } from './read'

type Fields = Record<string, unknown>

export class GeminiReader implements AnswerReader {
  private item: ThinkingItem | TextItem | undefined
  /** The open text; positions of its sources are counted in bytes. */
  private said = ''
  private readonly cited = new Set<string>()
  private hasText = false
  /**
   * The signature of a text that is not stored yet. A signature after a text waits for a call: clients look for the answer at the
   * end, and the vendor requires none for an answer without calls.
   */
  private signature = ''

  constructor(private readonly writer: AnswerWriter) {}

  push(event: object): void {
    const { responseId: id } = asObject(event)
    if (typeof id === 'string') this.writer.begin(id)
    const candidate = candidateIn(event)
    const probabilities = probabilitiesIn(candidate)
    for (const part of partsIn(candidate)) this.readPart(part, probabilities)
    if (candidate) this.cite(candidate)
    this.noteEnd(event, candidate)
  }

  finish(): void {
    this.close()
  }

  private readPart(
    { text, thought, functionCall: call, thoughtSignature }: Fields,
    logprobs: Fields[],
  ): void {
    const signature = asText(thoughtSignature)
    if (isObject(call)) {
      this.call(call, signature)
      return
    }
    if (signature !== '') this.signature = signature
    const piece = asText(text)
    if (piece === '') return
    if (thought === true) this.writer.add(this.open('thinking'), piece)
    else {
      if (!this.hasText) this.carry({})
      this.hasText = true
      const item = this.open('text')
      this.said += piece
      this.writer.add(item, piece, logprobs.splice(0))
    }
  }

  private call({ id, name, args }: Fields, signature: string): void {
    // Pieces of arguments arrive only if requested.
    if (typeof name !== 'string' || name === '') return
    const item: CallItem = { kind: 'call', id: asText(id), name, form: 'function' }
    this.writer.nameCall(item)
    this.carry(signature === '' ? {} : { calls: { [item.id]: signature } })
    this.close()
    this.writer.open(item)
    const input = typeof args === 'string' ? args : isObject(args) ? JSON.stringify(args) : ''
    if (input !== '{}') this.writer.add(item, input)
    this.writer.close(item)
  }

  /** Keeps signatures with the thinking that precedes their part, even if it has no text. */
  private carry(signatures: Omit<GeminiReasoning, 'kind'>): void {
    const kept = { ...(this.signature !== '' && { text: this.signature }), ...signatures }
    this.signature = ''
    if (Object.keys(kept).length === 0) return
    const item = this.open('thinking')
    if (item.kind === 'thinking') item.kept = { kind: 'gemini', ...kept }
    this.close()
  }

  private open(kind: 'thinking' | 'text'): ThinkingItem | TextItem {
    if (this.item?.kind === kind) return this.item
    this.close()
    const item: ThinkingItem | TextItem = { kind }
    this.item = item
    this.writer.open(item)
    return item
  }

  private close(): void {
    if (this.item) this.writer.close(this.item)
    this.item = undefined
    this.said = ''
  }

  /** Sources that the model recited, without repetition. */
  private cite({ citationMetadata }: Fields): void {
    const { citationSources, citations = citationSources } = asObject(citationMetadata)
    if (this.item?.kind !== 'text' || !Array.isArray(citations)) return
    const sources = citations.filter(isObject).flatMap((source) => {
      const key = JSON.stringify(source)
      if (typeof source.uri !== 'string' || this.cited.has(key)) return []
      this.cited.add(key)
      return [annotationOf(source, this.said)]
    })
    if (sources.length > 0) this.writer.cite(this.item, sources)
  }

  private noteEnd(event: object, candidate: Fields | undefined): void {
    const block = blockIn(event)
    const { finishReason: reason, finishMessage } = candidate ?? {}
    if (typeof reason !== 'string' && !block) return
    const tier = serviceTierIn(event)
    const stop = block ? 'filter' : geminiStop(reason)
    const why =
      block?.message || asText(finishMessage) || `The vendor's filter says ${block?.reason ?? reason}.`
    this.writer.end({
      stop,
      thinkingTokens: thinkingTokensIn(event),
      ...(stop === 'filter' && { explanation: why }),
      ...(tier !== undefined && { serviceTier: tier }),
    })
  }
}

/** Reads a whole reply. Throws if the vendor sent no answer. */
export function readGeminiAnswer(reply: unknown, writer: AnswerWriter): void {
  if (!candidateIn(reply) && !blockIn(reply)) throw new Error('the vendor sent no candidate')
  const reader = new GeminiReader(writer)
  reader.push(asObject(reply))
  reader.finish()
}

/** A citation, in the form of chat. Its place is counted in bytes: https://ai.google.dev/api/generate-content#CitationSource. */
function annotationOf({ uri, title, startIndex, endIndex }: Fields, text: string): Fields {
  const bytes = Buffer.from(text)
  const lengthTo = (index: unknown) =>
    typeof index === 'number' ? bytes.subarray(0, Math.max(0, index)).toString().length : 0
  const place = { start_index: lengthTo(startIndex), end_index: lengthTo(endIndex) }
  return { type: 'url_citation', url_citation: { url: uri, title: asText(title), ...place } }
}

/** The probabilities of a candidate's tokens, in the form of the responses API. */
function probabilitiesIn(candidate: Fields | undefined): Fields[] {
  const { chosenCandidates: chosen, topCandidates: top } = asObject(candidate?.logprobsResult)
  if (!Array.isArray(chosen)) return []
  const others = Array.isArray(top) ? top : []
  return chosen.map((token, place) => {
    const { candidates } = asObject(others[place])
    return { ...tokenOf(token), top_logprobs: (Array.isArray(candidates) ? candidates : []).map(tokenOf) }
  })
}

function tokenOf(token: unknown): Fields {
  const { token: text, logProbability } = asObject(token)
  return { token: asText(text), logprob: logProbability ?? 0, bytes: [...Buffer.from(asText(text))] }
}
