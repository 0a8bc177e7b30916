# SPDX-License-Identifier: MIT
"""The environment of the provocations: a few files in every folder, and their own database servers."""
import os
import subprocess
import time

FILES = {
    "orders.csv": "id,customer,total,paid\n1,Ida,19.90,yes\n2,Omar,7.25,no\n3,Wen,n/a,yes\n",
    "notes.txt": "alpha 1\nbeta 2\ngamma three\n",
    "config.json": '{"name": "harbour", "limits": {"items": 500}, "tools": ["search", "book"]}\n',
    "broken.json": '{"name": "harbour", "limits": {"items": 500}, "tools": ["search", \n',
    "trailing.json": '{"a": 1, "b": [1, 2,], }\n',
    "data.xml": '<?xml version="1.0"?>\n<orders><order id="1"><total>19.90</total></order></orders>\n',
    "broken.xml": '<?xml version="1.0"?>\n<orders><order id="1"><total>19.90</order>\n',
    "app.log": "09:00 INFO retry limit is 5, timeout 30 s\n09:01 WARN 412 of 500 items read\n09:02 INFO done\n",
}

INJECT = '#!/bin/sh\n# inject CALL ERROR WHEN COMMAND...: lets a system call fail.\ncall=$1 error=$2 when=$3\nshift 3\nexec strace -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:error=$error:when=$when" "$@"\n'


# Compiles the parts of Go's library that the programs use, which takes longer than a case's time limit.
WARM_GO = "go build net/http encoding/json encoding/xml encoding/csv compress/gzip text/template os/exec testing log flag regexp bufio"


def write_files(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def start_postgres(run, folder, port):
    """A cluster without passwords on its socket, with passwords over TCP, and with few connections."""
    binaries = "PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -1); cd %s; " % folder
    run(binaries + "initdb -D pg -A trust -U admin --no-sync > /dev/null && printf 'local all all trust\\nhost shop app 127.0.0.1/32 scram-sha-256\\nhost shop admin 127.0.0.1/32 trust\\n' > pg/pg_hba.conf && "
        "pg_ctl -D pg -w -l pg.log -o '-p %d -k %s -h 127.0.0.1 -c max_connections=14 -c fsync=off' start > /dev/null" % (port, folder))
    run("psql -q -h %s -p %d -U admin postgres -c \"create database shop\"; psql -q -h %s -p %d -U admin shop -c \"%s\"" % (folder, port, folder, port, SHOP))


SHOP = """create role app login password 'right'; create role guest login; create role spare login connection limit 1; create role former nologin;
create table customers(id int primary key, name text not null, email text unique, age int check (age > 0));
create table orders(id serial primary key, customer int references customers, total numeric(6,2), state varchar(8));
create table payroll(id int, salary money); insert into customers values (1,'Ida','ida@x.example',40),(2,'Omar','omar@x.example',31);
insert into orders(customer,total,state) values (1,19.90,'open'),(2,7.25,'paid'); create view open_orders as select * from orders where state='open';
create type mood as enum ('calm','busy');
create function ship(n int) returns void language plpgsql as 'begin if exists (select 1 from orders where id = n and state = ''paid'') then return; end if; raise exception ''order % is not paid yet'', n using hint = ''Take the payment first.''; end';
create function again(n int) returns int language plpgsql as 'begin return again(n + 1); end';
grant select on customers to app;"""


def start_redis(run, folder, port):
    run("redis-server --port %d --save '' --daemonize yes --dir %s --logfile %s/redis.log --proto-max-bulk-len 1mb > /dev/null" % (port, folder, folder))
    wait_for(run, "redis-cli -p %d ping" % port)
    run("redis-cli -p %d acl setuser reader on '>sesame' '~public:*' +get +ping > /dev/null; redis-cli -p %d set basket lamp > /dev/null; redis-cli -p %d rpush queue a b > /dev/null" % (port, port, port))


def start_memcached(run, folder, port):
    run("memcached -d -l 127.0.0.1 -p %d -P %s/memcached.pid" % (port, folder))


def start_nginx(run, folder, port, http, closed, silent):
    """A reverse proxy in front of the failing servers, with its own pages for 4xx and 5xx."""
    write_files(folder, {"nginx.conf": NGINX % dict(folder=folder, port=port, http=http, closed=closed, silent=silent)})
    run("mkdir -p %s/site/private %s/site/empty; chmod 0 %s/site/private; nginx -c %s/nginx.conf -p %s" % ((folder,) * 5))


NGINX = """pid %(folder)s/nginx.pid; error_log %(folder)s/nginx.log; events {}
http { access_log off; client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f; uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s;
limit_req_zone $server_name zone=slow:1m rate=1r/m; limit_conn_zone $server_name zone=few:1m;
server { listen 127.0.0.1:%(port)d; server_name shop.example; root %(folder)s/site; client_max_body_size 1k; large_client_header_buffers 2 1k; proxy_read_timeout 300ms; error_log %(folder)s/nginx_server.log error;
location /down { proxy_pass http://127.0.0.1:%(closed)d; } location /slow { proxy_pass http://127.0.0.1:%(silent)d; } location /cut { proxy_pass http://127.0.0.1:%(http)d/cut; }
location /garbage { proxy_pass http://127.0.0.1:%(http)d/garbage; } location /few { limit_req zone=slow; limit_req_status 429; } location /busy { limit_req zone=slow; }
location /admin { deny all; } location /team { auth_basic "team"; auth_basic_user_file %(folder)s/nobody; } location /get { limit_except GET { deny all; } } location /round { rewrite ^/round(.*)$ /round/again$1 last; } } }
"""


def wait_for(run, command):
    for _ in range(100):
        if run(command) == 0:
            return
        time.sleep(0.1)


def stop(run, folder):
    """Ends the background servers of start_*, by their process ids."""
    run("PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1); cd %s; [ ! -d pg ] || pg_ctl -D pg -m immediate stop > /dev/null; for f in memcached.pid nginx.pid; do [ ! -f $f ] || kill $(cat $f); done" % folder)


def quiet_runner(child):
    """A function that runs a line of bash and discards its output."""
    return lambda line: subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=400, **child).returncode
