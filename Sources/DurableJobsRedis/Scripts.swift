import HiredisClient

/// One script per transition, so that no crash falls between two steps.
///
/// Each script gets all of a queue's keys in the order of `QueueKeys.all`. Scripts that end or move claims may run past
/// `maxmemory`, since they free more than they use.
enum Scripts {
  /// Joins: ARGV consumer, lease in ms, an epoch for a new queue. → the queue's identity (epoch and server run id)
  static let join = RedisScript(
    head
      + """
      for stream = 1, STREAMS do
        redis.pcall('XGROUP', 'CREATE', KEYS[stream], 'workers', '0', 'MKSTREAM')
      end
      -- The first stream's group lists all consumers, whether they have read or not.
      redis.call('XGROUP', 'CREATECONSUMER', KEYS[1], 'workers', ARGV[1])
      redis.call('SET', KEYS[EPOCH], ARGV[3], 'NX')
      -- While a cluster moves a slot, a script runs only where all its keys are, so every queue's keys always exist.
      redis.call('SET', KEYS[PULSE], now(), 'NX')
      redis.call('HSETNX', KEYS[BEGUN], 'joined', 1)
      redis.call('ZADD', KEYS[TIMERS], now() + ARGV[2], 'w' .. ARGV[1])
      return life()
      """)

  /// Makes jobs ready that cannot have been pushed before: ARGV records.
  static let add = RedisScript(
    """
    #!lua
    for i = 1, #ARGV do
      local record = ARGV[i]
      redis.call('XADD', KEYS[string.byte(record, 2) - 47], '*', 'j', record)
    end
    return #ARGV
    """)

  /// Makes jobs ready or delayed: ARGV pairs of record and due time in ms after 1970 (0 for now). A durable job that is
  /// already known is left unchanged. → how many were new; -1 if the queue is held and so takes no durable job
  static let push = RedisScript("#!lua\n" + functions + "local passes = false\n" + pushing)

  /// Pushes jobs again, even while the queue is held.
  static let repush = RedisScript("#!lua\n" + functions + "local passes = true\n" + pushing)

  private static let pushing = """
      local time = now()
      local ids = {}
      for i = 1, #ARGV, 2 do ids[#ids + 1] = string.sub(ARGV[i], 5, 20) end
      local held = #ids + 1
      ids[held] = 'hold'
      local known = redis.call('HMGET', KEYS[KNOWN], unpack(ids))
      ids[held] = nil
      if known[held] and not passes then
        for i = 1, #ARGV, 2 do
          if string.byte(ARGV[i], 1) == 1 then return -1 end
        end
      end
      local places, seen = {}, {}
      local added = 0
      for i = 1, #ids do
        local record, due = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
        local durable = string.byte(record, 1) == 1
        if not (durable and (known[i] or seen[ids[i]])) then
          seen[ids[i]] = durable
          local place = 'd'
          if due > time then
            redis.call('HSET', KEYS[DELAYED], ids[i], record)
            redis.call('ZADD', KEYS[TIMERS], due, 'd' .. ids[i])
          else
            place = ready(string.byte(record, 2) - 47, record)
          end
          if durable then
            places[#places + 1] = ids[i]
            places[#places + 1] = place
          end
          added = added + 1
        end
      end
      if #places > 0 then redis.call('HSET', KEYS[KNOWN], unpack(places)) end
      return added
    """

  /// The field of the known jobs that exists while a queue is held. Ids are longer. It is not a separate key: while a
  /// slot moves, scripts run only where all their keys are.
  static let held = "hold"

  /// Holds a queue after durable jobs were refused: ARGV the time in the oldest one's id. It uses almost no memory.
  static let hold = RedisScript(
    """
    #!lua flags=allow-oom
    local oldest = redis.call('HGET', KEYS[1], 'hold')
    if not oldest or tonumber(ARGV[1]) < tonumber(oldest) then redis.call('HSET', KEYS[1], 'hold', ARGV[1]) end
    return 1
    """)

  /// Removes ended jobs: ARGV for each stream a count and that many entries; then the ids of the durable jobs among
  /// them.
  static let acknowledge = RedisScript(
    head
      + """
      local at = 1
      local marks = redis.call('HLEN', KEYS[BEGUN]) > 1
      for stream = 1, STREAMS do
        local count = tonumber(ARGV[at])
        if count > 0 then
          if marks then
            for i = at + 1, at + count do redis.call('HDEL', KEYS[BEGUN], stream .. ARGV[i]) end
          end
          redis.call('XACK', KEYS[stream], 'workers', unpack(ARGV, at + 1, at + count))
          redis.call('XDEL', KEYS[stream], unpack(ARGV, at + 1, at + count))
        end
        at = at + count + 1
      end
      if #ARGV >= at then redis.call('HDEL', KEYS[KNOWN], unpack(ARGV, at)) end
      return 1
      """)

  /// Delays claims: ARGV consumer, then fours of stream number, entry, delay in ms, new record. → how many it still had
  static let retry = RedisScript(
    head
      + """
      local time = now()
      local moved = 0
      for i = 2, #ARGV, 4 do
        local stream, entry = tonumber(ARGV[i]), ARGV[i + 1]
        if is_claimed(stream, entry, ARGV[1]) then
          forget(stream, entry)
          local record = ARGV[i + 3]
          local id = string.sub(record, 5, 20)
          redis.call('HSET', KEYS[DELAYED], id, record)
          redis.call('ZADD', KEYS[TIMERS], time + ARGV[i + 2], 'd' .. id)
          if string.byte(record, 1) == 1 then redis.call('HSET', KEYS[KNOWN], id, 'd') end
          moved = moved + 1
        end
      end
      return moved
      """)

  /// Hands claims back without counting the attempt: ARGV consumer, then pairs of stream number and entry.
  static let release = RedisScript(
    head
      + """
      local moved = 0
      for i = 2, #ARGV, 2 do
        local stream, entry = tonumber(ARGV[i]), ARGV[i + 1]
        if is_claimed(stream, entry, ARGV[1]) then
          hand_back(stream, entry, false)
          moved = moved + 1
        end
      end
      return moved
      """)

  /// Marks claims whose jobs begin: ARGV consumer, then pairs of stream number and entry. → 1 for each that the
  /// consumer still has, else 0
  static let begin = RedisScript(
    head
      + """
      local own = {}
      for i = 2, #ARGV, 2 do
        local stream, entry = tonumber(ARGV[i]), ARGV[i + 1]
        local is_own = is_claimed(stream, entry, ARGV[1])
        if is_own then redis.call('HSET', KEYS[BEGUN], stream .. entry, 1) end
        own[#own + 1] = is_own and 1 or 0
      end
      return own
      """)

  /// Hands back all of a consumer's claims without counting attempts, and removes it: ARGV consumer. → 1 if more remain
  static let leave = RedisScript(
    head
      + """
      local _, left = hand_back_all(ARGV[1], false, 1000)
      if left then return 1 end
      retire(ARGV[1])
      return 0
      """)

  /// Renews a lease and does what is due: ARGV consumer, lease in ms, lookahead in ms, 1 to list the consumer's claims
  /// older than its lease, the queue's identity as known to the consumer or an empty string to skip the comparison.
  /// → {0} if the lease or that identity is gone; {1, redelivered, ms to the next due job or lease expiry (-1: none is
  /// near), the receipts of old claims}
  ///
  /// A lease expires only while others are renewed. After a time without renewals, because the server stalled or was
  /// unreachable, every lease starts over.
  ///
  /// Claims of consumers without a lease come from late replies: their consumer was declared dead meanwhile. The first
  /// heartbeat of any consumer in each third of a lease checks for them, so the cost does not grow with the workers.
  static let heartbeat = RedisScript(
    head
      + """
      local time, lease = now(), tonumber(ARGV[2])
      local me = 'w' .. ARGV[1]
      if ARGV[5] ~= '' and life() ~= ARGV[5] then return {0} end
      local before = tonumber(redis.call('SET', KEYS[PULSE], time, 'GET') or time)
      if time - before > lease / 2 then
        for _, consumer in ipairs(redis.pcall('XINFO', 'CONSUMERS', KEYS[1], 'workers')) do
          redis.call('ZADD', KEYS[TIMERS], 'XX', time + lease, 'w' .. consumer[2])
        end
      end
      -- Nothing changed: the lease is gone, or was already renewed in this millisecond.
      if redis.call('ZADD', KEYS[TIMERS], 'XX', 'CH', time + lease, me) == 0
        and not redis.call('ZSCORE', KEYS[TIMERS], me) then return {0} end
      local reaped, next_due = 0, -1
      local function reap(consumer)
        local count, left = hand_back_all(consumer, true, 1000)
        reaped = reaped + count
        if left then next_due = 0 else retire(consumer) end
      end
      local timers = redis.call('ZRANGEBYSCORE', KEYS[TIMERS], '-inf', time + ARGV[3], 'WITHSCORES', 'LIMIT', 0, 500)
      for i = 1, #timers, 2 do
        local member, score = timers[i], tonumber(timers[i + 1])
        local what, name = string.sub(member, 1, 1), string.sub(member, 2)
        if score > time then
          -- A job about to become due, or a lease about to expire: live consumers renew theirs long before.
          if next_due < 0 then next_due = score - time end
          break
        elseif what == 'w' then
          reap(name)
        else
          end_delay(name)
        end
      end
      if #timers == 1000 and next_due < 0 then next_due = 0 end
      local third = lease / 3
      local sweeps = math.floor(before / third) ~= math.floor(time / third) or before == time
      local held = {}
      if sweeps or ARGV[4] == '1' then
        -- A claim's entry stays in its stream, so one read finds the streams that can have any.
        local heads = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6],
          0, 0, 0, 0, 0, 0)
        local filled = {}
        for _, head in ipairs(heads or {}) do filled[head[1]] = true end
        for stream = 1, STREAMS do
          if filled[KEYS[stream]] and sweeps then
            for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[stream], 'workers')) do
              if not redis.call('ZSCORE', KEYS[TIMERS], 'w' .. consumer[2]) then reap(consumer[2]) end
            end
          end
          if filled[KEYS[stream]] and ARGV[4] == '1' then
            local old = redis.call('XPENDING', KEYS[stream], 'workers', 'IDLE', lease, '-', '+', 2000, ARGV[1])
            for _, claim in ipairs(old) do held[#held + 1] = stream .. claim[1] end
          end
        end
      end
      return {1, reaped, next_due, held}
      """)

  /// Makes delayed jobs ready early: ARGV ids. → those that were delayed
  static let promote = RedisScript(
    head
      + """
      local promoted = {}
      for i = 1, #ARGV do
        if end_delay(ARGV[i]) then promoted[#promoted + 1] = ARGV[i] end
      end
      return promoted
      """)

  static let head = "#!lua flags=allow-oom\n" + functions

  static let functions = """
    local STREAMS, TIMERS, DELAYED, KNOWN, EPOCH, PULSE, BEGUN = 6, 7, 8, 9, 10, 11, 12

    local function now()
      local time = redis.call('TIME')
      return time[1] * 1000 + math.floor(time[2] / 1000)
    end

    -- Identifies the queue's data: the epoch drawn when the queue was created, and the server's run id, which differs
    -- on a promoted replica and after a restart. Such a server may lack the last writes. (The replication id does not
    -- work: it changes when a server gets its first replica, such as a backup.)
    local function life()
      local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
      return (redis.call('GET', KEYS[EPOCH]) or '') .. '/' .. (server or '')
    end

    local function ready(stream, record)
      return stream .. redis.call('XADD', KEYS[stream], '*', 'j', record)
    end

    -- Makes a delayed job ready. → whether it was delayed
    local function end_delay(id)
      local record = redis.call('HGET', KEYS[DELAYED], id)
      redis.call('ZREM', KEYS[TIMERS], 'd' .. id)
      if not record then return false end
      redis.call('HDEL', KEYS[DELAYED], id)
      local stream = string.byte(record, 2) - 47
      -- Not a job: put it where an operator can inspect it.
      if stream < 1 or stream > 3 then stream = 1 end
      local place = ready(stream, record)
      if string.byte(record, 1) == 1 then redis.call('HSET', KEYS[KNOWN], id, place) end
      return true
    end

    local function forget(stream, entry)
      redis.call('XACK', KEYS[stream], 'workers', entry)
      redis.call('XDEL', KEYS[stream], entry)
      redis.call('HDEL', KEYS[BEGUN], stream .. entry)
    end

    -- Whether a consumer has claimed an entry.
    local function is_claimed(stream, entry, consumer)
      return #redis.call('XPENDING', KEYS[stream], 'workers', entry, entry, 1, consumer) == 1
    end

    -- The delay of a job that several dying workers had claimed: none after the first, then a random delay that grows.
    -- This separates jobs that were claimed together, so that a job that kills its workers dies alone.
    -- (Lua's random numbers are the same in each call; the id's are not.)
    local function parting(id, attempts)
      if attempts < 2 then return 0 end
      local drawn = (string.byte(id, 15) * 256 + string.byte(id, 16)) * (2 * attempts + 1) % 65536 / 65536
      return math.floor(drawn * math.min(1000 * 2 ^ (attempts - 2), 15000))
    end

    -- Makes an entry ready again, ahead of others of its priority, since it already waited. A dying consumer's begun
    -- claim counts as an attempt.
    local function hand_back(stream, entry, is_dying)
      local found = redis.call('XRANGE', KEYS[stream], entry, entry)
      redis.call('XACK', KEYS[stream], 'workers', entry)
      local begun = redis.call('HDEL', KEYS[BEGUN], stream .. entry) == 1
      if #found == 0 then return end
      local record = found[1][2][2]
      -- Not a job: leave it in the stream for inspection, and let the heartbeats continue.
      if #record < 20 then return end
      local count = is_dying and begun and 1 or 0
      local high, low = string.byte(record, 3, 4)
      local attempts = math.min(high * 256 + low + count, 65535)
      record = string.sub(record, 1, 2) .. string.char(math.floor(attempts / 256), attempts % 256)
        .. string.sub(record, 5)
      redis.call('XDEL', KEYS[stream], entry)
      local id = string.sub(record, 5, 20)
      local wait = count > 0 and parting(id, attempts) or 0
      local place = 'd'
      if wait > 0 then
        redis.call('HSET', KEYS[DELAYED], id, record)
        redis.call('ZADD', KEYS[TIMERS], now() + wait, 'd' .. id)
      else
        local priority = string.byte(record, 2) - 48
        if priority < 0 or priority > 2 then priority = 0 end
        place = ready(4 + priority, record)
      end
      if string.byte(record, 1) == 1 then redis.call('HSET', KEYS[KNOWN], id, place) end
    end

    -- Hands back a consumer's claims. → how many, whether more remain
    local function hand_back_all(consumer, is_dying, most)
      local moved = 0
      for stream = 1, STREAMS do
        local pending = redis.call('XPENDING', KEYS[stream], 'workers', '-', '+', most - moved, consumer)
        for _, claim in ipairs(pending) do hand_back(stream, claim[1], is_dying) end
        moved = moved + #pending
        if moved >= most then return moved, true end
      end
      return moved, false
    end

    local function retire(consumer)
      for stream = 1, STREAMS do redis.call('XGROUP', 'DELCONSUMER', KEYS[stream], 'workers', consumer) end
      redis.call('ZREM', KEYS[TIMERS], 'w' .. consumer)
    end


    """
}
