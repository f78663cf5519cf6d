(* Expressions in indices: their syntax and meaning, a normal form, and a checker of certificates that is proved correct.

   An entry of a matrix of any size is an expression: a sum of products of numbers, powers of positive scalars, Kronecker
   deltas and entries of tensors, over indices each of which has a size.  A certificate writes the difference of two sides
   as a sum of multiples of equations that hold; the checker brings what is left to a normal form, which has no terms. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Attention Require Import Rationals.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------------------------------------ syntax *)

(* the name of an index, and the number of its size *)
Definition index := (N * nat)%type.
(* what has rational powers: a size, by its number, or another positive scalar, by its number *)
Definition base := (nat + nat)%type.

Inductive expr :=
| Number of ratio
| Power of base & ratio
| Delta of index & index
| Entry of nat & seq index          (* an entry of a tensor, or of a function of tensors, by its number *)
| Add of expr & expr
| Mul of expr & expr
| Sum of index & expr.

Definition Int (z : Z) := Number (z, xH).
Definition Size (s : nat) := Power (inl s) (1%Z, xH).
Definition Neg e := Mul (Int (-1)) e.
Definition Sub a b := Add a (Neg b).
Definition Sums (bs : seq index) e := foldr Sum e bs.

(* an equation between expressions, for all values of all indices *)
Definition equation := (expr * expr)%type.

(* ------------------------------------------------------------------------------------------ other indices in an expression *)

Definition moved (k : N) (v : index) : index := (N.add v.1 k, v.2).
Definition set1 (f : index -> index) v w : index -> index := fun x => if x == v then w else f x.
(* free indices become their images by f, bound ones get names that are greater by k *)
Fixpoint place (f : index -> index) (k : N) (e : expr) : expr := match e with
  | Number q => Number q | Power b q => Power b q
  | Delta i j => Delta (f i) (f j)
  | Entry t vs => Entry t (map f vs)
  | Add a b => Add (place f k a) (place f k b)
  | Mul a b => Mul (place f k a) (place f k b)
  | Sum v a => Sum (moved k v) (place (set1 f v (moved k v)) k a) end.

Fixpoint lookup (bs vs : seq index) (other : index -> index) (x : index) : index := match bs, vs with
  | b :: bs', v :: vs' => if x == b then v else lookup bs' vs' other x
  | _, _ => other x end.
Definition above (vs : seq index) : N := foldr (fun v k => N.max (N.succ v.1) k) 0%num vs.
Definition sizes (vs : seq index) : seq nat := [seq v.2 | v <- vs].
(* e with the indices vs in the place of bs; sizes have to agree *)
Definition instance (bs vs : seq index) (e : expr) : option expr :=
  let k := above vs in
  if sizes bs == sizes vs then Some (place (lookup bs vs (moved k)) k e) else None.

(* ------------------------------------------------------------------------------------------------------- normal forms *)

Record monomial := Monomial {
  powers : seq (base * ratio); deltas : seq (index * index); entries : seq (nat * seq index) }.
Definition key := (seq index * monomial)%type.      (* summed indices and a product *)
Definition term := (ratio * key)%type.

Definition indices (m : monomial) : seq index :=
  flatten [seq [:: d.1; d.2] | d <- deltas m] ++ flatten [seq f.2 | f <- entries m].
Definition product (m n : monomial) :=
  Monomial (powers m ++ powers n) (deltas m ++ deltas n) (entries m ++ entries n).
Definition renamed (s : index -> index) (m : monomial) :=
  Monomial (powers m) [seq d <- [seq (s d.1, s d.2) | d <- deltas m] | d.1 != d.2] [seq (f.1, map s f.2) | f <- entries m].

(* exchange of two indices, where neither is free *)
Definition swap (u v w : index) := if w == u then v else if w == v then u else w.
Definition exchange (u v : index) (k : key) : key :=
  let fixed w := (w \in indices k.2) && (w \notin k.1) in
  if (u.2 == v.2) && ~~ fixed u && ~~ fixed v then (map (swap u v) k.1, renamed (swap u v) k.2) else k.

(* the summed indices bs of k that are taken elsewhere get names from `top` upwards *)
Fixpoint apart (taken : seq index) (top : N) (bs : seq index) (k : key) : key := match bs with
  | [::] => k
  | b :: bs' => if b \in taken then apart taken (N.succ top) bs' (exchange b (top, b.2) k) else apart taken top bs' k end.
Definition disjoint (s t : seq index) := all (fun x => x \notin t) s.
Definition separate (k l : key) : key * key :=
  let vk := k.1 ++ indices k.2 in let vl := l.1 ++ indices l.2 in
  if disjoint k.1 vl && disjoint l.1 vk then (k, l) else
  let k' := apart vl (above (vk ++ vl)) k.1 k in
  let vk' := k'.1 ++ indices k'.2 in
  (k', apart vk' (above (vk' ++ vl)) l.1 l).
Definition multiply (t u : term) : option term :=
  let: (k, l) := separate t.2 u.2 in
  if disjoint k.1 (l.1 ++ indices l.2) && disjoint l.1 (indices k.2)
  then Some (times t.1 u.1, (k.1 ++ l.1, product k.2 l.2)) else None.
Fixpoint all_of T (s : seq (option T)) : option (seq T) := match s with
  | [::] => Some [::]
  | Some x :: s' => if all_of s' is Some r then Some (x :: r) else None
  | None :: _ => None end.

Definition set (v j w : index) := if w == v then j else w.
(* the index that a delta joins to v, and the other deltas *)
Fixpoint joined (v : index) (ds : seq (index * index)) : option (index * seq (index * index)) := match ds with
  | [::] => None
  | d :: ds' =>
    if (d.1 == v) && (d.2 != v) then Some (d.2, ds')
    else if (d.2 == v) && (d.1 != v) then Some (d.1, ds')
    else if joined v ds' is Some jr then Some (jr.1, d :: jr.2) else None end.
(* the sum over v: by a delta, as a factor, or as one more summed index *)
Definition summed (v : index) (t : term) : term :=
  let: (q, (bs, m)) := t in
  let kept := if v \in indices m then (q, (v :: bs, m))
              else (q, (bs, Monomial ((inl v.2, (1%Z, xH)) :: powers m) (deltas m) (entries m))) in
  if joined v (deltas m) is Some (j, ds) then
    if [&& j.2 == v.2, j \notin bs & v \notin bs]
    then (q, (bs, renamed (set v j) (Monomial (powers m) ds (entries m)))) else kept
  else kept.

Fixpoint normal (e : expr) : option (seq term) := match e with
  | Number q => Some (if is_zero q then [::] else [:: (q, ([::], Monomial [::] [::] [::]))])
  | Power b q => Some [:: ((1%Z, xH), ([::], Monomial [:: (b, q)] [::] [::]))]
  | Delta i j => Some [:: ((1%Z, xH), ([::], Monomial [::] [seq d <- [:: (i, j)] | d.1 != d.2] [::]))]
  | Entry t vs => Some [:: ((1%Z, xH), ([::], Monomial [::] [::] [:: (t, vs)]))]
  | Add a b => if normal a is Some s then if normal b is Some t then Some (s ++ t) else None else None
  | Mul a b => if normal a is Some s then if normal b is Some t
               then all_of [seq multiply x y | x <- s, y <- t] else None else None
  | Sum v a => if normal a is Some s then Some (map (summed v) s) else None end.

(* -------------------------------------------------------------------------------------- one form for equal products *)

Definition before (a b : index) := N.ltb a.1 b.1 || (a.1 == b.1) && (a.2 <= b.2)%N.
Fixpoint before_all (s t : seq index) := match s, t with
  | [::], _ => true | _, [::] => false
  | a :: s', b :: t' => if a == b then before_all s' t' else before a b end.
Definition entry_before (f g : nat * seq index) := if f.1 == g.1 then before_all f.2 g.2 else (f.1 < g.1)%N.
Definition delta_before (d e : index * index) := before_all [:: d.1; d.2] [:: e.1; e.2].
Definition base_before (a b : base) := match a, b with
  | inl x, inl y => (x <= y)%N | inl _, inr _ => true | inr _, inl _ => false | inr x, inr y => (x <= y)%N end.

Fixpoint insert_index (b : index) (bs : seq index) := match bs with
  | [::] => [:: b]
  | c :: bs' => if (b == c) || before b c then b :: bs else c :: insert_index b bs' end.
Fixpoint insert_power (p : base * ratio) (ps : seq (base * ratio)) := match ps with
  | [::] => [:: p]
  | p' :: ps' => if p.1 == p'.1 then (p.1, plus p.2 p'.2) :: ps'
                 else if base_before p.1 p'.1 then p :: ps else p' :: insert_power p ps' end.

(* indices that deltas declare equal are replaced by one of them *)
Definition through (s : seq (index * index)) (w : index) := foldl (fun w p => if w == p.1 then p.2 else w) w s.
Definition join (s : seq (index * index)) (d : index * index) :=
  let a := through s d.1 in let b := through s d.2 in
  if a == b then s else if before a b then rcons s (b, a) else rcons s (a, b).
Definition joins (ds : seq (index * index)) := foldl join [::] ds.
Definition implies (ds es : seq (index * index)) := let s := joins ds in all (fun d => through s d.1 == through s d.2) es.
Definition sorted_form (m : monomial) : monomial :=
  let s := joins (deltas m) in
  let ds := [seq (through s p.1, p.1) | p <- s] in
  let ds := if implies ds (deltas m) && implies (deltas m) ds then ds else deltas m in
  Monomial [seq p <- foldr insert_power [::] (powers m) | ~~ is_zero p.2]
           (sort delta_before ds)
           (sort entry_before [seq (f.1, map (through s) f.2) | f <- entries m]).
Definition sorted_key (k : key) : key := (foldr insert_index [::] k.1, sorted_form k.2).
Definition canonical (exchanges : seq (index * index)) (k : key) : key :=
  sorted_key (foldl (fun k uv => exchange uv.1 uv.2 k) k exchanges).

Definition monomial_eq (m n : monomial) :=
  [&& powers m == powers n, deltas m == deltas n & entries m == entries n].
Definition key_eq (k l : key) := (k.1 == l.1) && monomial_eq k.2 l.2.
Fixpoint accumulate (k : key) (q : ratio) (l : seq (key * ratio)) := match l with
  | [::] => [:: (k, q)]
  | kq :: l' => if key_eq kq.1 k then (k, plus kq.2 q) :: l' else kq :: accumulate k q l' end.
Fixpoint collect (exchanges : seq (seq (index * index))) (ts : seq term) : seq (key * ratio) := match ts with
  | [::] => [::]
  | t :: ts' => accumulate (canonical (head [::] exchanges) t.2) t.1 (collect (behead exchanges) ts') end.

(* --------------------------------------------------------------------------------------------------------- the checker *)

(* equation number `which`, at the indices `at_` in the place of `by_`, times a factor, summed over `over` *)
Record use := Use { over : seq index; factor : expr; which : nat; by_ : seq index; at_ : seq index }.
(* uses of equations, and for each term of what is left the exchanges of summed indices that give its canonical form *)
Record certificate := Certificate { uses : seq use; exchanges : seq (seq (index * index)) }.

Definition trivial : equation := (Int 0, Int 0).
Definition used (known : seq equation) (u : use) : option expr :=
  let: (l, r) := nth trivial known (which u) in
  if instance (by_ u) (at_ u) l is Some l' then
    if instance (by_ u) (at_ u) r is Some r' then Some (Sums (over u) (Mul (factor u) (Sub l' r'))) else None
  else None.
Fixpoint without_uses (known : seq equation) (us : seq use) : option expr := match us with
  | [::] => Some (Int 0)
  | u :: us' => if used known u is Some e then if without_uses known us' is Some r then Some (Add (Neg e) r) else None
                else None end.
Definition vanishes (es : seq (seq (index * index))) (e : expr) : bool :=
  if normal e is Some ts then all (fun kq => is_zero kq.2) (collect es ts) else false.
Definition check (known : seq equation) (e1 e2 : expr) (c : certificate) : bool :=
  if without_uses known (uses c) is Some e then vanishes (exchanges c) (Add (Sub e1 e2) e) else false.

(* ============================================================================================================= meaning *)
Section Meaning.
Variables (R : numFieldType) (size_of : nat -> nat) (power : base -> ratio -> R) (entry : nat -> seq nat -> R).
Hypothesis power0 : forall b q, is_zero q -> power b q = 1.
Hypothesis powerD : forall b p q, power b (plus p q) = power b p * power b q.
Hypothesis power_size : forall s, (0 < size_of s)%N -> power (inl s) (1%Z, xH) = (size_of s)%:R.

Definition environment := index -> nat.
Definition update (r : environment) v x : environment := fun w => if w == v then x else r w.
Definition valid (r : environment) := forall v, (r v < size_of v.2)%N.

Fixpoint value (r : environment) (e : expr) : R := match e with
  | Number q => rational R q
  | Power b q => power b q
  | Delta i j => (r i == r j)%:R
  | Entry t vs => entry t (map r vs)
  | Add a b => value r a + value r b
  | Mul a b => value r a * value r b
  | Sum v a => \sum_(0 <= x < size_of v.2) value (update r v x) a end.
Definition holds (h : equation) := forall r, valid r -> value r h.1 = value r h.2.

Lemma update_same r v x : update r v x v = x. Proof. by rewrite /update eqxx. Qed.
Lemma update_other r v x w : w != v -> update r v x w = r w. Proof. by rewrite /update => /negPf ->. Qed.
Lemma update_valid r v x : valid r -> (x < size_of v.2)%N -> valid (update r v x).
Proof. by move=> rV xs w; rewrite /update; case: eqP => [->|]. Qed.
Lemma size_positive r s : valid r -> (0 < size_of s)%N.
Proof. by move=> /(_ (0%num, s)); exact: leq_ltn_trans. Qed.

Lemma value_env e r r' : r =1 r' -> value r e = value r' e.
Proof.
elim: e r r' => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r r' E //=.
- by rewrite !E.
- by congr entry; exact: eq_map.
- by rewrite (IHa _ _ E) (IHb _ _ E).
- by rewrite (IHa _ _ E) (IHb _ _ E).
by apply: eq_bigr => x _; apply: IHa => w; rewrite /update E.
Qed.

(* ------------------------------------------------------------------------------------------------------ other indices *)

Definition spaced (k : N) (f : index -> index) := forall v, N.lt (f v).1 k \/ f v = moved k v.
Lemma place_value f k e r : spaced k f -> value r (place f k e) = value (r \o f) e.
Proof.
elim: e f r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] f r fk //=.
- by rewrite -map_comp.
- by rewrite IHa // IHb.
- by rewrite IHa // IHb.
apply: eq_bigr => x _; rewrite IHa; last by move=> w; rewrite /set1; case: eqP => [->|_] //; right.
apply: value_env => w; rewrite /comp /update /set1; have [_|wv] := w =P v; first by rewrite eqxx.
case: eqP => [E|] //; case: (fk w) => [lt|fw].
  by move: lt; rewrite E /moved /=; lia.
by case: wv; move: E; rewrite fw /moved; case: w v {fw} => [a1 s1] [a2 s2] [/= E ->]; congr pair; lia.
Qed.
Lemma above_in vs v : v \in vs -> N.lt v.1 (above vs).
Proof.
elim: vs => [|w vs IH] //; rewrite inE -[above _]/(N.max (N.succ w.1) (above vs)) => /orP[/eqP ->|/IH lt].
  exact/N.lt_le_trans/N.le_max_l/N.lt_succ_diag_r.
exact: (N.lt_le_trans _ _ _ lt (N.le_max_r _ _)).
Qed.
Lemma lookup_spaced bs vs : spaced (above vs) (lookup bs vs (moved (above vs))).
Proof.
have : forall v, v \in vs -> N.lt v.1 (above vs) by exact: above_in.
move: (above vs) => k; elim: bs vs => [|b bs IH] [|w vs] le v /=; try by right.
case: eqP => [_|_]; first by left; apply: le; rewrite inE eqxx.
by apply: IH => u uv; apply: le; rewrite inE uv orbT.
Qed.
Lemma lookup_valid bs vs k r : sizes bs = sizes vs -> valid r -> valid (r \o lookup bs vs (moved k)).
Proof.
move=> E rV v; have -> : v.2 = (lookup bs vs (moved k) v).2; last exact: rV.
elim: bs vs E => [|b bs IH] [|w vs] //= [bw E].
by case: eqP => [->|_] //; exact: IH.
Qed.
Lemma instance_value bs vs e e' r : instance bs vs e = Some e' ->
  value r e' = value (r \o lookup bs vs (moved (above vs))) e /\ sizes bs = sizes vs.
Proof.
rewrite /instance; case: eqP => // E [<-]; split=> //.
by rewrite place_value //; exact: lookup_spaced.
Qed.

(* ------------------------------------------------------------------------------------------- meaning of normal forms *)

Fixpoint sums (bs : seq index) (f : environment -> R) (r : environment) : R := match bs with
  | [::] => f r
  | b :: bs' => \sum_(0 <= x < size_of b.2) sums bs' f (update r b x) end.
Definition all_equal (ds : seq (index * index)) (r : environment) := all (fun d => r d.1 == r d.2) ds.
Definition powers_value (ps : seq (base * ratio)) : R := \prod_(p <- ps) power p.1 p.2.
Definition entries_value (fs : seq (nat * seq index)) r : R := \prod_(f <- fs) entry f.1 (map r f.2).
Definition monomial_value (m : monomial) r : R :=
  powers_value (powers m) * (all_equal (deltas m) r)%:R * entries_value (entries m) r.
Definition key_value (k : key) r := sums k.1 (monomial_value k.2) r.
Definition term_value (t : term) r := rational R t.1 * key_value t.2 r.
Definition terms_value (ts : seq term) r : R := \sum_(t <- ts) term_value t r.

(* f depends on the indices in V only *)
Definition depends_on (V : seq index) (f : environment -> R) := forall r r', {in V, r =1 r'} -> f r = f r'.

Lemma delta_indices m d x : d \in deltas m -> x \in [:: d.1; d.2] -> x \in indices m.
Proof. by move=> dm xd; rewrite mem_cat; apply/orP; left; apply/flatten_mapP; exists d. Qed.
Lemma entry_indices m f x : f \in entries m -> x \in f.2 -> x \in indices m.
Proof. by move=> fm xf; rewrite mem_cat; apply/orP; right; apply/flatten_mapP; exists f. Qed.
Lemma monomial_depends m : depends_on (indices m) (monomial_value m).
Proof.
move=> r r' E; rewrite /monomial_value; congr (_ * (nat_of_bool _)%:R * _).
  apply: eq_in_all => d dm.
  by rewrite !E // (delta_indices dm) // !inE eqxx ?orbT.
rewrite /entries_value !big_seq; apply: eq_bigr => f fm; congr entry.
by apply/eq_in_map => x xf; exact/E/(entry_indices fm).
Qed.
Lemma sums_depend V bs f : depends_on V f -> depends_on [seq v <- V | v \notin bs] (sums bs f).
Proof.
move=> fV; elim: bs => [|b bs IH] r r' E /=; first by apply: fV => w wV; apply: E; rewrite mem_filter.
apply: eq_big_nat => x _; apply: IH => w; rewrite mem_filter => /andP[wb wV]; rewrite /update.
by case: eqP => // /eqP n; apply: E; rewrite mem_filter inE negb_or n wb.
Qed.
Lemma sums_eq bs f g r : f =1 g -> sums bs f r = sums bs g r.
Proof. by move=> E; elim: bs r => [|b bs IH] r /=; [exact: E | apply: eq_bigr => x _; exact: IH]. Qed.
Lemma sums_env V bs f r r' : depends_on V f -> r =1 r' -> sums bs f r = sums bs f r'.
Proof. by move=> fV E; apply: (sums_depend fV) => w _; exact: E. Qed.
Lemma sums_scaled bs V f g r : depends_on V g -> disjoint bs V -> sums bs (fun r => g r * f r) r = g r * sums bs f r.
Proof.
move=> gV; elim: bs r => [|b bs IH] r //= /andP[bV /IH E].
rewrite mulr_sumr; apply: eq_bigr => x _; rewrite E; congr (_ * _); apply: gV => w wV.
by rewrite update_other //; apply: contraNneq bV => <-.
Qed.
Lemma sums_cat bs cs f r : sums (bs ++ cs) f r = sums bs (sums cs f) r.
Proof. by elim: bs r => [|b bs IH] r //=; apply: eq_bigr => x _; exact: IH. Qed.
Lemma sums_product bs cs V W f g r : depends_on V f -> depends_on W g -> disjoint cs V -> disjoint bs (cs ++ W) ->
  sums bs f r * sums cs g r = sums (bs ++ cs) (fun r => f r * g r) r.
Proof.
move=> fV gW cV bW; rewrite sums_cat.
rewrite [RHS](@sums_eq _ _ (fun r => sums cs g r * f r)); last first.
  by move=> r'; rewrite (sums_scaled _ _ fV cV) mulrC.
rewrite (@sums_scaled _ [seq v <- W | v \notin cs]); [exact: mulrC | exact: sums_depend |].
by apply/allP => b /(allP bW); rewrite mem_cat mem_filter negb_or negb_and => /andP[_ ->]; rewrite orbT.
Qed.

Lemma product_value m n r : monomial_value (product m n) r = monomial_value m r * monomial_value n r.
Proof.
rewrite /monomial_value /powers_value /entries_value /all_equal /= !big_cat all_cat -mulnb natrM /=.
by rewrite [RHS]mulrACA; congr (_ * _); rewrite [RHS]mulrACA.
Qed.
Lemma unequal ds r : all_equal [seq d <- ds | d.1 != d.2] r = all_equal ds r.
Proof. by elim: ds => [|d ds IH] //=; case: eqP => [->|_] /=; rewrite ?eqxx IH. Qed.
Lemma renamed_value s m r : monomial_value (renamed s m) r = monomial_value m (r \o s).
Proof.
rewrite /monomial_value /entries_value /= unequal /all_equal all_map big_map; congr (_ * _).
by apply: eq_bigr => f _; rewrite -map_comp.
Qed.

Lemma swapK u v : involutive (swap u v).
Proof.
move=> w; rewrite /swap; case: (w =P u) => [->|/eqP wu]; first by rewrite eqxx; case: eqP.
by case: (w =P v) => [->|/eqP wv]; rewrite ?eqxx // (negPf wu) (negPf wv).
Qed.
Lemma swap_size u v w : u.2 = v.2 -> (swap u v w).2 = w.2.
Proof. by rewrite /swap => E; case: eqP => [->|_] //; case: eqP => [->|_]. Qed.
Lemma exchange_value u v k r : key_value (exchange u v k) r = key_value k r.
Proof.
case: k => [bs m]; rewrite /exchange /=; case: ifP => // /andP[/andP[/eqP sz fu] fv].
rewrite /key_value /=; set s := swap u v.
have inj : injective s := inv_inj (swapK u v).
have aux cs r1 r2 : (forall w, w \in indices m -> w \notin cs -> r1 w = r2 (s w)) ->
    sums (map s cs) (monomial_value (renamed s m)) r2 = sums cs (monomial_value m) r1.
  elim: cs r1 r2 => [|c cs IH] r1 r2 H /=.
    by rewrite renamed_value; apply: monomial_depends => w wV; rewrite H.
  rewrite /s (swap_size c sz); apply: eq_bigr => x _; apply: IH => w wV wc.
  rewrite /update -/s (inj_eq inj); case: eqP => // /eqP n.
  by apply: H; rewrite // inE negb_or n wc.
apply: aux => w wV wb; rewrite /s /swap.
case: (w =P u) => [wu|_]; first by move: fu; rewrite -wu wV wb.
by case: (w =P v) => [wv|_] //; move: fv; rewrite -wv wV wb.
Qed.
Lemma apart_value taken top bs k r : key_value (apart taken top bs k) r = key_value k r.
Proof.
elim: bs top k => [|b bs IH] top k //=; case: ifP => _; last exact: IH.
by rewrite IH exchange_value.
Qed.
Lemma separate_value k l r : let: (k', l') := separate k l in
  key_value k' r = key_value k r /\ key_value l' r = key_value l r.
Proof. by rewrite /separate; case: ifP => // _; rewrite !apart_value. Qed.

Lemma multiply_value t u w r : multiply t u = Some w -> term_value w r = term_value t r * term_value u r.
Proof.
case: t u => [p k] [q l]; rewrite /multiply /=.
have := separate_value k l r; case: (separate k l) => [[bs m] [cs n]] [Ek El].
case: ifP => // /andP[d1 d2] [<-]; rewrite /term_value /= rationalM -Ek -El [RHS]mulrACA; congr (_ * _).
rewrite /key_value /= (sums_product r (monomial_depends (m := m)) (monomial_depends (m := n))) //.
by apply: sums_eq => r'; rewrite product_value.
Qed.
Lemma all_of_cat T (s t : seq (option T)) w : all_of (s ++ t) = Some w ->
  exists u v, [/\ all_of s = Some u, all_of t = Some v & w = u ++ v].
Proof.
elim: s w => [|[x|] s IH] w //=; first by exists [::], w.
by case E: (all_of _) => [w'|] // [<-]; have [u [v [-> Ev ->]]] := IH _ E; exists (x :: u), v.
Qed.
Lemma multiply_terms_value x t w r : all_of [seq multiply x y | y <- t] = Some w ->
  terms_value w r = term_value x r * terms_value t r.
Proof.
elim: t w => [|y t IH] w /=; first by case=> <-; rewrite /terms_value !big_nil mulr0.
case M: (multiply x y) => [z|] //; case E: (all_of _) => [w'|] // [<-].
by rewrite /terms_value !big_cons mulrDr (multiply_value r M) -!/(terms_value _ _) (IH _ E).
Qed.
Lemma multiply_all_value s t w r : all_of [seq multiply x y | x <- s, y <- t] = Some w ->
  terms_value w r = terms_value s r * terms_value t r.
Proof.
elim: s w => [|x s IH] w /=; first by case=> <-; rewrite /terms_value !big_nil mul0r.
move=> /all_of_cat [u [v [Eu Ev ->]]].
by rewrite /terms_value big_cat big_cons mulrDl -!/(terms_value _ _) (multiply_terms_value r Eu) (IH _ Ev).
Qed.

Lemma joinedP v ds j ds' : joined v ds = Some (j, ds') ->
  j != v /\ forall r, all_equal ds r = (r v == r j) && all_equal ds' r.
Proof.
elim: ds ds' => [|d ds IH] ds' //=; case: ifP => [/andP[/eqP <- n] [<- <-]|_] //.
case: ifP => [/andP[/eqP <- n] [<- <-]|_]; first by split=> // r; rewrite [_ == r d.1]eq_sym.
case E: (joined v ds) => [[j' r']|] //= [jj <-]; move: E; rewrite jj => E.
by have [? H] := IH _ E; split=> // r; rewrite /= H andbCA.
Qed.

Lemma summed_value v t r : valid r ->
  term_value (summed v t) r = \sum_(0 <= x < size_of v.2) term_value t (update r v x).
Proof.
case: t => [q [bs m]] rV; rewrite /summed.
set kept := (if v \in indices m then _ else _).
have keptP : term_value kept r = \sum_(0 <= x < size_of v.2) term_value (q, (bs, m)) (update r v x).
  rewrite /kept; case: ifP => vm; rewrite /term_value /key_value /= -mulr_sumr //; congr (_ * _).
  rewrite (eq_bigr (fun=> sums bs (monomial_value m) r)); last first.
    move=> x _; apply: (sums_depend (monomial_depends (m := m))) => w; rewrite mem_filter => /andP[_ wm].
    by rewrite update_other //; apply: contraFneq vm => <-.
  rewrite sumr_const_nat subn0 -mulr_natl.
  rewrite -(@sums_scaled bs [::] (monomial_value m) (fun=> (size_of v.2)%:R)) //; last by elim: (bs).
  apply: sums_eq => r'; rewrite /monomial_value /powers_value /= big_cons /= power_size ?mulrA //.
  exact: size_positive rV.
case g: (joined v (deltas m)) => [[j ds]|] //; case: ifP => [/and3P[/eqP sz jb vb]|_] //.
have [jv dsP] := joinedP g; set m' := Monomial (powers m) ds (entries m).
have split_m r' : monomial_value m r' = (r' v == r' j)%:R * monomial_value m' r'.
  by rewrite /monomial_value dsP -mulnb natrM -!mulrA [RHS]mulrCA.
have dj : disjoint bs [:: v; j].
  apply/allP => b bb; rewrite !inE negb_or; apply/andP; split; first by apply: contraNneq vb => <-.
  by apply: contraNneq jb => <-.
rewrite /term_value /key_value /= -mulr_sumr; congr (_ * _).
rewrite (eq_bigr (fun x => (x == r j)%:R * sums bs (monomial_value m') (update r v x))); last first.
  move=> x _; rewrite (sums_eq _ _ split_m) (@sums_scaled _ [:: v; j]) ?update_same ?update_other //.
  by move=> r1 r2 H; rewrite !H ?inE ?eqxx ?orbT.
have jin : r j \in index_iota 0 (size_of v.2) by rewrite mem_index_iota -sz; exact: rV.
rewrite (bigD1_seq (r j) jin (iota_uniq _ _)) /= eqxx mul1r big1 ?addr0; last by move=> x /negPf ->; rewrite mul0r.
have aux cs r1 r2 : disjoint cs [:: v; j] -> r1 =1 r2 \o set v j ->
    sums cs (monomial_value (renamed (set v j) m')) r2 = sums cs (monomial_value m') r1.
  elim: cs r1 r2 => [|c cs IH] r1 r2 /=; first by move=> _ H; rewrite renamed_value; apply: monomial_depends => w _; rewrite H.
  case/andP => cvj dcs H; apply: eq_bigr => x _; apply: IH => // w.
  move: cvj; rewrite !inE negb_or /update /= => /andP[cv cj].
  rewrite H /= /set; case: (w =P c) => [->|wc]; first by rewrite (negPf cv) eqxx.
  by case: (w =P v) => [_|_]; [rewrite eq_sym (negPf cj) | case: eqP].
by apply: aux => // w; rewrite /update /set /=; case: eqP.
Qed.

Lemma normal_value e ts r : valid r -> normal e = Some ts -> terms_value ts r = value r e.
Proof.
have one q m r' : terms_value [:: (q, ([::], m))] r' = rational R q * monomial_value m r' by rewrite /terms_value big_seq1.
have plain m r' : monomial_value m r' = powers_value (powers m) * (all_equal (deltas m) r')%:R * entries_value (entries m) r'.
  by [].
have nil r' : entries_value [::] r' = 1 by rewrite /entries_value big_nil.
have nilp : powers_value [::] = 1 by rewrite /powers_value big_nil.
elim: e ts r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] ts r rV /=.
- case=> <-; case: ifP => [z|_]; first by rewrite /terms_value big_nil rational0.
  by rewrite one plain nil nilp !mulr1.
- by case=> <-; rewrite one plain nil rational1 /powers_value /= big_seq1 !mulr1 mul1r.
- case=> <-; rewrite one plain nil nilp rational1.
  by have [->|_] := i =P j; rewrite /= ?eqxx ?andbT !mulr1 ?mul1r.
- by case=> <-; rewrite one plain nilp rational1 /entries_value /= big_seq1 !mul1r.
- case Ea: (normal a) => [s|] //; case Eb: (normal b) => [t|] // [<-].
  by rewrite /terms_value big_cat -!/(terms_value _ _) /= (IHa _ _ rV Ea) (IHb _ _ rV Eb).
- case Ea: (normal a) => [s|] //; case Eb: (normal b) => [t|] // E.
  by rewrite (multiply_all_value r E) (IHa _ _ rV Ea) (IHb _ _ rV Eb).
case Ea: (normal a) => [s|] // [<-]; rewrite /terms_value big_map.
rewrite (eq_bigr (fun t => \sum_(0 <= x < size_of v.2) term_value t (update r v x))); last by move=> t _; exact: summed_value.
rewrite exchange_big /=; apply: eq_big_nat => x /andP[_ xs].
by rewrite -(IHa _ _ (update_valid rV xs) Ea).
Qed.

(* -------------------------------------------------------------------------------------- one form for equal products *)

Lemma sums_exchange b c bs V f r : depends_on V f -> sums (b :: c :: bs) f r = sums (c :: b :: bs) f r.
Proof.
move=> fV; have [->//|/eqP bc] := b =P c.
rewrite /= exchange_big /=; apply: eq_bigr => x _; apply: eq_bigr => y _; apply: (sums_env _ fV) => w.
by rewrite /update; have [->|_] := w =P b; rewrite ?(negPf bc).
Qed.
Lemma sums_insert b bs V f r : depends_on V f -> sums (insert_index b bs) f r = sums (b :: bs) f r.
Proof.
move=> fV; elim: bs r => [|c bs IH] r //; rewrite [insert_index _ _]/=; case: ifP => // _.
by rewrite (sums_exchange _ _ _ _ fV) /=; apply: eq_bigr => x _; rewrite IH.
Qed.
Lemma sums_sorted bs V f r : depends_on V f -> sums (foldr insert_index [::] bs) f r = sums bs f r.
Proof.
move=> fV; elim: bs r => [|b bs IH] r //=; rewrite (sums_insert _ _ _ fV) /=.
by apply: eq_bigr => x _; exact: IH.
Qed.

Lemma powers_insert p ps : powers_value (insert_power p ps) = power p.1 p.2 * powers_value ps.
Proof.
rewrite /powers_value; elim: ps => [|p' ps IH] /=; first by rewrite big_cons.
case: eqP => [E|_]; first by rewrite !big_cons /= powerD -E mulrA.
by case: ifP => _; rewrite !big_cons ?IH // mulrCA.
Qed.
Lemma powers_sorted ps : powers_value [seq p <- foldr insert_power [::] ps | ~~ is_zero p.2] = powers_value ps.
Proof.
transitivity (powers_value (foldr insert_power [::] ps)).
  rewrite /powers_value big_filter [RHS](bigID (fun p => ~~ is_zero p.2)) /= [X in _ = _ * X]big1 ?mulr1 //.
  by move=> p; rewrite negbK => /power0 ->.
elim: ps => [|p ps IH] //=; rewrite powers_insert IH.
by rewrite /powers_value big_cons.
Qed.

Lemma through_equal s r w : all_equal s r -> r (through s w) = r w.
Proof.
elim: s w => [|p s IH] w //= /andP[/eqP E A]; rewrite IH //.
by case: eqP => // ->.
Qed.
Lemma joins_equal ds r : all_equal ds r -> all_equal (joins ds) r.
Proof.
rewrite /joins; have : all_equal [::] r by []; elim: ds [::] => [|d ds IH] s //= sE /andP[/eqP E A].
apply: IH A; rewrite /join; case: eqP => // _.
by case: ifP => _; rewrite /all_equal all_rcons -/(all_equal s r) /= !through_equal // E eqxx.
Qed.
Lemma implies_equal ds es r : implies ds es -> all_equal ds r -> all_equal es r.
Proof.
move=> /allP H /joins_equal A; apply/allP => d /H /eqP E.
by rewrite -(through_equal d.1 A) -(through_equal d.2 A) E.
Qed.
Lemma sorted_value k r : key_value (sorted_key k) r = key_value k r.
Proof.
case: k => bs m; rewrite /sorted_key /key_value /= (sums_sorted _ _ (monomial_depends (m := sorted_form m))).
apply: sums_eq => {}r; rewrite /monomial_value /sorted_form /=.
set s := joins (deltas m); set ds := (if _ then _ else _).
have dsE : all_equal (sort delta_before ds) r = all_equal (deltas m) r.
  rewrite /all_equal all_sort -!/(all_equal _ r) /ds; case: ifP => // /andP[A B].
  by apply/idP/idP; exact: implies_equal.
rewrite powers_sorted dsE; case A: (all_equal (deltas m) r); last by rewrite !mulr0 !mul0r.
congr (_ * _); rewrite /entries_value (perm_big _ (permEl (perm_sort _ _))) big_map.
apply: eq_bigr => f _ /=; rewrite -map_comp; congr entry; apply: eq_map => w /=.
exact/through_equal/joins_equal.
Qed.
Lemma canonical_value es k r : key_value (canonical es k) r = key_value k r.
Proof. by rewrite /canonical sorted_value; elim: es k => [|uv es IH] k //=; rewrite IH exchange_value. Qed.

Lemma key_eqP k l : key_eq k l -> k = l.
Proof. by case: k l => bs [p d f] [cs [p' d' f']] /andP[/eqP /= -> /and3P[/= /eqP -> /eqP -> /eqP ->]]. Qed.
Definition collected_value (l : seq (key * ratio)) r : R := \sum_(kq <- l) rational R kq.2 * key_value kq.1 r.
Lemma accumulate_value k q l r :
  collected_value (accumulate k q l) r = rational R q * key_value k r + collected_value l r.
Proof.
rewrite /collected_value; elim: l => [|kq l IH] /=; first by rewrite big_seq1 big_nil addr0.
case: ifP => [/key_eqP E|_]; rewrite !big_cons ?IH /=; last by rewrite addrCA.
by rewrite rationalD mulrDl E [rational R kq.2 * _ + _]addrC addrA.
Qed.
Lemma collect_value es ts r : collected_value (collect es ts) r = terms_value ts r.
Proof.
elim: ts es => [|t ts IH] es /=; first by rewrite /collected_value /terms_value !big_nil.
by rewrite accumulate_value IH canonical_value /terms_value big_cons.
Qed.

(* --------------------------------------------------------------------------------------------------------- the checker *)

Lemma neg_value e r : value r (Neg e) = - value r e.
Proof. by rewrite /= rationalN1 mulN1r. Qed.
Lemma trivial_holds : holds trivial. Proof. by []. Qed.
Lemma nth_holds known n : (forall h, List.In h known -> holds h) -> holds (nth trivial known n).
Proof.
elim: known n => [|h known IH] [|n] H //=; first by apply: H; left.
by apply: IH => h' I; apply: H; right.
Qed.
Lemma sums_value bs e r : value r (Sums bs e) = sums bs (fun r => value r e) r.
Proof. by elim: bs r => [|b bs IH] r //=; apply: eq_bigr => x _; exact: IH. Qed.
Lemma used_value known u e r : (forall h, List.In h known -> holds h) -> valid r -> used known u = Some e -> value r e = 0.
Proof.
move=> H rV; rewrite /used; case: (nth _ _ _) (nth_holds (which u) H) => [l l'] h.
case E: (instance _ _ l) => [a|] //; case F: (instance _ _ l') => [b|] // [<-].
elim: (over u) r rV => [|v vs IH] r rV; last first.
  by rewrite /= big_nat big1 // => x /andP[_ xs]; rewrite IH //; exact: update_valid.
rewrite [Sums _ _]/= [value _ _]/= -[value r _ + _ * _]/(value r a + value r (Neg b)) neg_value.
have [-> sz] := instance_value r E; have [-> _] := instance_value r F.
by rewrite h ?subrr ?mulr0 //; exact: lookup_valid.
Qed.
Lemma without_uses_value known us e r : (forall h, List.In h known -> holds h) -> valid r ->
  without_uses known us = Some e -> value r e = 0.
Proof.
move=> H rV; elim: us e => [|u us IH] e /=; first by case=> <-; rewrite /= rational0.
case E: (used _ _) => [a|] //; case F: (without_uses _ _) => [b|] // [<-].
by rewrite -[LHS]/(value r (Neg a) + value r b) neg_value (used_value H rV E) (IH _ F) oppr0 addr0.
Qed.

Lemma vanishes_value es e r : valid r -> vanishes es e -> value r e = 0.
Proof.
rewrite /vanishes; case N: (normal _) => [ts|] // rV A; rewrite -(normal_value rV N) -(collect_value es) /collected_value.
elim: (collect _ _) A => [|kq l IH] /=; first by rewrite big_nil.
by case/andP => z /IH {}IH; rewrite big_cons rational0 // mul0r add0r.
Qed.
Lemma difference_value e1 e2 e r : value r (Add (Sub e1 e2) e) = value r e1 - value r e2 + value r e.
Proof. by rewrite -[LHS]/(value r e1 + value r (Neg e2) + value r e) neg_value. Qed.

Theorem check_correct known e1 e2 c : check known e1 e2 c ->
  (forall h, List.In h known -> holds h) -> holds (e1, e2).
Proof.
rewrite /check; case U: (without_uses _ _) => [e|] // V H r rV /=.
move: (vanishes_value rV V); rewrite difference_value (without_uses_value H rV U) addr0 => /eqP.
by rewrite subr_eq0 => /eqP.
Qed.
End Meaning.
