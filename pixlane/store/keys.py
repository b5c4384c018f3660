"""Every Redis key, in one place.

    key                              type, life                          written by -> read by
    pixlane:{<sha256>}:src           bytes; no TTL while a job refers    producer -> worker
                                     to it, then source_ttl_s
    pixlane:{<sha256>}:refs          set of job keys that refer to src   producer, worker -> worker
    pixlane:{<sha256>}:url:<recipe>  the data URL, result_ttl_s          worker -> anyone (`redis-cli GET`)
    pixlane:{<sha256>}:meta:<recipe> JSON of the rendition without its   worker -> client
                                     bytes, same life
    pixlane:{<sha256>}:err:<recipe>  JSON error; error_ttl_s, or         worker -> client
                                     crashed_ttl_s for `crashed`
    pixlane:{<sha256>}:vis           JSON: the visual reference of the   agent, worker -> anyone
                                     last call, result_ttl_s
    pixlane:{<sha256>}:obs:<question>   JSON: what was seen, with the    agent, worker -> both
                                     question, observation_ttl_s
    pixlane:{<sha256>}:looking:<question>   mark: somebody is looking    agent, worker -> both
                                     just now; 3 s, renewed meanwhile
    pixlane:job:<key>                hash: the record of an open job     producer, worker, sweeper
    pixlane:open                     zset: job key by deadline, ms of    producer, worker, sweeper
                                     server TIME
    pixlane:line:<queue>             zset: key of an open job by when    producer, worker -> producer
                                     it was submitted, ms
    pixlane:loads                    hash: bytes of the sources of open  producer, worker -> producer
                                     jobs, and open jobs by tenant
    pixlane:dead                     zset: key of a job that was put     worker -> operator
                                     aside, by when, ms
    pixlane:dead:<key>               hash: what is known of that job;    worker -> operator
                                     crashed_ttl_s
    pixlane:{<sha256>}:kept          mark: a dead letter wants the       worker
                                     source; crashed_ttl_s
    pixlane:inbox                    stream: one JSON entry is a         anyone -> worker
                                     submission
    pixlane:rejected                 stream: entries of the inbox that   worker -> anyone
                                     are none, and why; about 1,000
    pixlane:queues                   hash: per queue, when it was last   worker -> sweeper
                                     claimed from and how far
    pixlane:workers                  zset: worker name by when it was    worker -> health, sweeper
                                     last alive, ms of server TIME
    pixlane:totals                   hash: runs by outcome since the      worker -> stats
                                     beginning; what the last seconds
                                     of a killed worker counted is lost
    pixlane:outcome:<key>            JSON error of a job that ended      worker -> client
                                     with one that is not remembered,
                                     or the answer of an observation;
                                     60 s, for those who wait now
    pixlane:{<sha256>}:forgotten     mark: a run under way takes back    client -> worker
                                     what it stores; as long as a lease
    pixlane:calls:<conversation>     hash: per image, how often an agent  agent -> agent
                                     loaded it; 7 d after the last time
    pixlane:done:<key>               pub/sub: a job ended                worker -> client
    pixlane-broker:<queue>           list: messages, the newest first    producer, sweeper -> worker
    pixlane-broker:...               Kombu's own: what is unacknowledged worker

url, meta, err, vis, obs and looking live on the cache (`PIXLANE_CACHE_URL`), what begins with `pixlane-broker:` on the broker
(`PIXLANE_BROKER_URL`), all others on the ledger (`PIXLANE_REDIS_URL`). On the cache no command touches two hash tags. `pixlane`
is the setting `key_prefix`.

The key of a job is derived from its content: `<sha256>-<recipe fingerprint>`.
"""

from __future__ import annotations

from dataclasses import dataclass


def job_key(sha256: str, fingerprint: str) -> str:
    return f"{sha256}-{fingerprint}"


@dataclass(frozen=True)
class Keys:
    prefix: str = "pixlane"

    def source(self, sha256: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:src"

    def refs(self, sha256: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:refs"

    def url(self, sha256: str, fingerprint: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:url:{fingerprint}"

    def meta(self, sha256: str, fingerprint: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:meta:{fingerprint}"

    def error(self, sha256: str, fingerprint: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:err:{fingerprint}"

    def reference(self, sha256: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:vis"

    def observation(self, sha256: str, question: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:obs:{question}"

    def looking(self, sha256: str, question: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:looking:{question}"

    def job(self, key: str) -> str:
        return f"{self.prefix}:job:{key}"

    def outcome(self, key: str) -> str:
        return f"{self.prefix}:outcome:{key}"

    def forgotten(self, sha256: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:forgotten"

    def done(self, key: str) -> str:
        return f"{self.prefix}:done:{key}"

    def line(self, queue: str) -> str:
        return f"{self.prefix}:line:{queue}"

    def letter(self, key: str) -> str:
        return f"{self.prefix}:dead:{key}"

    def kept(self, sha256: str) -> str:
        return f"{self.prefix}:{{{sha256}}}:kept"

    def calls(self, conversation: str) -> str:
        return f"{self.prefix}:calls:{conversation}"

    @property
    def root(self) -> str:
        """The first part of every key, with its colon."""
        return f"{self.prefix}:"

    @property
    def loads(self) -> str:
        return f"{self.prefix}:loads"

    @property
    def dead(self) -> str:
        return f"{self.prefix}:dead"

    @property
    def inbox(self) -> str:
        return f"{self.prefix}:inbox"

    @property
    def rejected(self) -> str:
        return f"{self.prefix}:rejected"

    @property
    def open(self) -> str:
        return f"{self.prefix}:open"

    @property
    def queues(self) -> str:
        return f"{self.prefix}:queues"

    @property
    def workers(self) -> str:
        return f"{self.prefix}:workers"

    @property
    def totals(self) -> str:
        return f"{self.prefix}:totals"

    @property
    def broker(self) -> str:
        """Prefix of the keys of Celery's broker; none of ours starts with it, so that a purge leaves the broker alone."""
        return f"{self.prefix}-broker:"

    def waiting(self, queue: str) -> str:
        """The messages of a queue, where Kombu keeps them when Redis is the broker: a list, the newest first."""
        return self.broker + queue
