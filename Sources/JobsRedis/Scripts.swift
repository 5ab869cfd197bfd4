import Redis

/// One script a transition, so that no crash falls between two steps.
///
/// Each gets all of a queue's keys in the order of `QueueKeys.all`. Those that end or move claims are allowed past
/// `maxmemory`, since they free more than they take.
enum Scripts {
  /// Joins: ARGV consumer, lease in ms, an epoch to begin with. → the queue's life
  static let join = RedisScript(
    head
      + """
      for stream = 1, 3 do
        redis.pcall('XGROUP', 'CREATE', KEYS[stream], 'workers', '0', 'MKSTREAM')
      end
      redis.call('SET', KEYS[EPOCH], ARGV[3], 'NX')
      redis.call('ZADD', KEYS[TIMERS], now() + ARGV[2], 'w' .. ARGV[1])
      return life()
      """)

  /// Makes jobs ready that nobody else can have pushed: ARGV records.
  static let add = RedisScript(
    """
    #!lua
    for i = 1, #ARGV do
      local record = ARGV[i]
      redis.call('XADD', KEYS[string.byte(record, 2) - 47], '*', 'j', record)
    end
    return #ARGV
    """)

  /// Makes jobs ready or delayed: ARGV pairs of record and due time in ms after 1970 (0 for at once). A durable job that is
  /// known already is left as it is. → how many were new
  static let push = RedisScript(
    "#!lua\n" + functions
      + """
      local time = now()
      local ids = {}
      for i = 1, #ARGV, 2 do ids[#ids + 1] = string.sub(ARGV[i], 5, 20) end
      local known = redis.call('HMGET', KEYS[KNOWN], unpack(ids))
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
      """)

  /// Forgets ended jobs: ARGV for each stream a count and so many entries; then the ids of the durable jobs among them.
  static let acknowledge = RedisScript(
    head
      + """
      local at = 1
      for stream = 1, 3 do
        local count = tonumber(ARGV[at])
        if count > 0 then
          redis.call('XACK', KEYS[stream], 'workers', unpack(ARGV, at + 1, at + count))
          redis.call('XDEL', KEYS[stream], unpack(ARGV, at + 1, at + count))
        end
        at = at + count + 1
      end
      if #ARGV >= at then redis.call('HDEL', KEYS[KNOWN], unpack(ARGV, at)) end
      return 1
      """)

  /// Delays claims: ARGV consumer, then fours of stream number, entry, delay in ms, new record. → how many were still its
  static let retry = RedisScript(
    head
      + """
      local time = now()
      local moved = 0
      for i = 2, #ARGV, 4 do
        local stream, entry = tonumber(ARGV[i]), ARGV[i + 1]
        if times_claimed(stream, entry, ARGV[1]) then
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

  /// Hands claims back, their attempt not counted: ARGV consumer, then pairs of stream number and entry.
  static let release = RedisScript(
    head
      + """
      local moved = 0
      for i = 2, #ARGV, 2 do
        local stream, entry = tonumber(ARGV[i]), ARGV[i + 1]
        local times = times_claimed(stream, entry, ARGV[1])
        if times then
          hand_back(stream, entry, times - 1)
          moved = moved + 1
        end
      end
      return moved
      """)

  /// Hands back all of a consumer's claims, attempts not counted, and ends it: ARGV consumer. → 1 if more are left
  static let leave = RedisScript(
    head
      + """
      local _, left = hand_back_all(ARGV[1], 0, 1000)
      if left then return 1 end
      retire(ARGV[1])
      return 0
      """)

  /// Renews a lease and does what is due: ARGV consumer, lease in ms, how far to look ahead in ms, 1 to look for consumers
  /// without a lease, the queue's life as the consumer knows it or nothing not to compare it. → {0} if the lease or that life
  /// is over; {1, handed on, ms to the next due job or -1}
  static let beat = RedisScript(
    head
      + """
      local time = now()
      local me = 'w' .. ARGV[1]
      if ARGV[5] ~= '' and life() ~= ARGV[5] then return {0} end
      -- Nothing changed: the lease is gone, or was renewed in this very millisecond.
      if redis.call('ZADD', KEYS[TIMERS], 'XX', 'CH', time + ARGV[2], me) == 0
        and not redis.call('ZSCORE', KEYS[TIMERS], me) then return {0} end
      local reaped, next_due = 0, -1
      local function reap(consumer)
        local count, left = hand_back_all(consumer, 1, 1000)
        reaped = reaped + count
        if left then next_due = 0 else retire(consumer) end
      end
      local timers = redis.call('ZRANGEBYSCORE', KEYS[TIMERS], '-inf', time + ARGV[3], 'WITHSCORES', 'LIMIT', 0, 500)
      for i = 1, #timers, 2 do
        local member, score = timers[i], tonumber(timers[i + 1])
        local what, name = string.sub(member, 1, 1), string.sub(member, 2)
        if score > time then
          if what == 'd' then
            if next_due < 0 then next_due = score - time end
            break
          end
        elseif what == 'w' then
          reap(name)
        else
          end_delay(name)
        end
      end
      if #timers == 1000 and next_due < 0 then next_due = 0 end
      if ARGV[4] == '1' then
        for stream = 1, 3 do
          for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[stream], 'workers')) do
            if not redis.call('ZSCORE', KEYS[TIMERS], 'w' .. consumer[2]) then reap(consumer[2]) end
          end
        end
      end
      return {1, reaped, next_due}
      """)

  /// Makes delayed jobs ready before their time: ARGV ids. → those that were delayed
  static let hurry = RedisScript(
    head
      + """
      local hurried = {}
      for i = 1, #ARGV do
        if end_delay(ARGV[i]) then hurried[#hurried + 1] = ARGV[i] end
      end
      return hurried
      """)

  static let head = "#!lua flags=allow-oom\n" + functions

  static let functions = """
    local TIMERS, DELAYED, KNOWN, EPOCH = 4, 5, 6, 7

    local function now()
      local time = redis.call('TIME')
      return time[1] * 1000 + math.floor(time[2] / 1000)
    end

    -- What the queue's memory is one with: the epoch drawn when it began from nothing, and the server's replication id,
    -- which is another one on a replica that was promoted, and after a restart. Such a server may lack the last writes.
    local function life()
      local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
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
      -- No job of ours: it goes where somebody can look at it.
      if stream < 1 or stream > 3 then stream = 1 end
      local place = ready(stream, record)
      if string.byte(record, 1) == 1 then redis.call('HSET', KEYS[KNOWN], id, place) end
      return true
    end

    local function forget(stream, entry)
      redis.call('XACK', KEYS[stream], 'workers', entry)
      redis.call('XDEL', KEYS[stream], entry)
    end

    -- How often an entry was delivered, if it is in the hands of this consumer.
    local function times_claimed(stream, entry, consumer)
      local pending = redis.call('XPENDING', KEYS[stream], 'workers', entry, entry, 1, consumer)
      if #pending == 1 then return pending[1][4] end
      return nil
    end

    -- How long a job waits that was in the hands of dying workers so many times: at once after the first, then a time of
    -- its own that grows. Jobs that were claimed together part ways so, and one that kills its workers dies alone.
    -- (Lua's random numbers are the same in each call; the id's are not.)
    local function parting(id, attempts)
      if attempts < 2 then return 0 end
      local drawn = (string.byte(id, 15) * 256 + string.byte(id, 16)) * (2 * attempts + 1) % 65536 / 65536
      return math.floor(drawn * math.min(1000 * 2 ^ (attempts - 2), 15000))
    end

    -- Ready again, before others: it has waited already. Counts so many attempts more.
    local function hand_back(stream, entry, count)
      local found = redis.call('XRANGE', KEYS[stream], entry, entry)
      redis.call('XACK', KEYS[stream], 'workers', entry)
      if #found == 0 then return end
      local record = found[1][2][2]
      -- No job of ours: it stays in the stream for somebody to look at, and stops nobody's heartbeat.
      if #record < 20 then return end
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
        place = ready(1, record)
      end
      if string.byte(record, 1) == 1 then redis.call('HSET', KEYS[KNOWN], id, place) end
    end

    -- Hands back what a consumer holds, each with its last delivery counted (1) or not (0). → how many, whether more are left
    local function hand_back_all(consumer, counted, most)
      local moved = 0
      for stream = 1, 3 do
        local pending = redis.call('XPENDING', KEYS[stream], 'workers', '-', '+', most - moved, consumer)
        for _, claim in ipairs(pending) do hand_back(stream, claim[1], claim[4] - 1 + counted) end
        moved = moved + #pending
        if moved >= most then return moved, true end
      end
      return moved, false
    end

    local function retire(consumer)
      for stream = 1, 3 do redis.call('XGROUP', 'DELCONSUMER', KEYS[stream], 'workers', consumer) end
      redis.call('ZREM', KEYS[TIMERS], 'w' .. consumer)
    end


    """
}
